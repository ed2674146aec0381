// Written from the schemas of the configuration by `npm run docs`.

/** The listener for clients, and how requests and replies are bounded. */
export interface ServerOptions {
  /**
   * Address to listen on. Without it `HOST` of the environment counts, if it is an IP address or `localhost`.
   *
   * @defaultValue `"127.0.0.1"`
   */
  host?: string | undefined;
  /**
   * 0 takes a free port. Without it `PORT` of the environment counts.
   *
   * @defaultValue `8080`
   */
  port?: number | string | undefined;
  /**
   * Serve HTTPS with this certificate, instead of HTTP. The files have a watch of their own; other changes need
   * a restart.
   */
  tls?: {
    /**
     * File with the certificate and those between it and its root, in PEM. Read again when it changes. Paths
     * begin at the folder of the configuration.
     */
    cert_file: string;
    /** File with the private key of the certificate, in PEM, without a passphrase. Read again when it changes. */
    key_file: string;
    /**
     * File with authorities in PEM. Only clients with a certificate of one of them may connect; they need a key
     * as well. Read again when it changes.
     */
    client_ca_file?: string | undefined;
    /**
     * Oldest version of TLS that is accepted. Changes with a restart.
     *
     * @defaultValue `"TLSv1.2"`
     */
    min_version?: 'TLSv1.2' | 'TLSv1.3' | undefined;
  } | undefined;
  /** Where clients reach the gateway, without `/v1`: for the examples that the dashboard shows. */
  public_url?: string | undefined;
  /**
   * Believe the last `X-Forwarded-For`, for `client_address` in the log: only behind a proxy that sets it, and
   * with no other way to this listener.
   *
   * @defaultValue `false`
   */
  trust_proxy?: boolean | undefined;
  /**
   * A chain without the stage `auth`, or one of your own with `authenticates: true`, is refused unless this is
   * set: every client is served then, without a key.
   *
   * @defaultValue `false`
   */
  open?: boolean | undefined;
  /**
   * The largest request body, also after decompression.
   *
   * @defaultValue `16777216`
   */
  max_body_bytes?: number | undefined;
  /**
   * The most JSON values in a request body: objects, arrays, strings, numbers and literals. 10,000 messages with
   * parts and tool calls have 130,000.
   *
   * @defaultValue `300000`
   */
  max_body_values?: number | undefined;
  /**
   * The most keys of objects in a request body, all objects together.
   *
   * @defaultValue `150000`
   */
  max_body_keys?: number | undefined;
  /**
   * How many times its size a compressed request body may decompress to, beyond a first mebibyte that any may.
   * JSON shrinks to a tenth, mostly.
   *
   * @defaultValue `100`
   */
  max_decompression_ratio?: number | undefined;
  /**
   * The longest pause between two pieces of a request body. In milliseconds.
   *
   * @defaultValue `30000`
   */
  body_idle_ms?: number | undefined;
  /**
   * How long a request body may take in all, however short its pauses: 16 MiB at 0.5 Mbit/s take 270 s. Longer
   * bodies of `passthrough` must keep to `min_body_bytes_per_second` from then on.
   *
   * @defaultValue `300000`
   */
  body_timeout_ms?: number | undefined;
  /**
   * The most memory, in bytes, that request bodies may take at a time, from their arrival to the end of their
   * exchange: their bytes, decompressed ones included, the parsed form (1 byte for a character, 2 in a body that
   * is not all ASCII or has `\u` escapes; 64 for each value, 128 for each key), and the copy for the provider
   * until its reply begins. A body takes two to three times its size; above the limit it is refused with 502
   * `server_error`. Bodies that take more than 1 MiB are refused at three quarters of it, so that small ones are
   * served beside them. Without it: half of the heap that V8 may use, but at most a third of what the memory of
   * the container, divided by `workers`, has above 256 MiB, or an eighth of it. That is 256 MiB in a container
   * of 1 GiB, and 85 MiB in one of 512 MiB.
   */
  max_buffered_bytes?: number | undefined;
  /**
   * The same for each account; requests without an account share one. Without it: a quarter of
   * `max_buffered_bytes`, but at least five times `max_body_bytes`, so that one largest body is served.
   */
  max_buffered_bytes_per_account?: number | undefined;
  /**
   * How long a stream's status is held back for the upstream's first event. In milliseconds.
   *
   * @defaultValue `10000`
   */
  stream_commit_ms?: number | undefined;
  /**
   * Silence after which a stream sends a comment; 0 sends none but the one that commits. In milliseconds.
   *
   * @defaultValue `15000`
   */
  keepalive_ms?: number | undefined;
  /**
   * How long a client may read nothing while data waits for it. In milliseconds.
   *
   * @defaultValue `60000`
   */
  slow_client_ms?: number | undefined;
  /**
   * After this a non-streamed request is answered 524; generation goes on and is billed. In milliseconds.
   *
   * @defaultValue `120000`
   */
  non_stream_timeout_ms?: number | undefined;
  /**
   * How long a reply is read on after its client was answered 524 or has left. One that is given up then has the
   * end reason `background_aborted` in the ledger. In milliseconds.
   *
   * @defaultValue `900000`
   */
  max_background_ms?: number | undefined;
  /**
   * How many replies are read on at the same time.
   *
   * @defaultValue `256`
   */
  max_background?: number | undefined;
  /**
   * After SIGTERM `/readyz` answers 503 at once, and requests are still served for this time, in which load
   * balancers notice. SIGINT skips it. In milliseconds.
   *
   * @defaultValue `5000`
   */
  unready_ms?: number | undefined;
  /**
   * How long running exchanges may take to finish after that. A second SIGTERM ends them at once. In
   * milliseconds.
   *
   * @defaultValue `30000`
   */
  drain_ms?: number | undefined;
  /**
   * Let several processes listen at the same addresses (`SO_REUSEPORT`, Linux): start the next process, wait
   * until it is ready, then end this one.
   *
   * @defaultValue `false`
   */
  reuse_port?: boolean | undefined;
  /**
   * Processes that serve the public address of a sidecar together, each on a core of its own; `auto`: one for
   * each core. In an application it has no effect.
   *
   * @defaultValue `1`
   */
  workers?: number | 'auto' | string | undefined;
  /**
   * Watch the file of the configuration, and reload it when it has changed; a symbolic link is followed. SIGHUP
   * and `sluice reload` reload it in any case.
   *
   * @defaultValue `false`
   */
  reload_on_change?: boolean | undefined;
}

/** The listener for operators: metrics, health and the dashboard. */
export interface AdminOptions {
  /**
   * Address to listen on; never a public one.
   *
   * @defaultValue `"127.0.0.1"`
   */
  host?: string | undefined;
  /**
   * 0 takes a free port.
   *
   * @defaultValue `8081`
   */
  port?: number | string | undefined;
  /**
   * Path of a Unix socket with the same paths, and with `POST /reload` for `sluice reload`. Only the user of
   * this process may open it. A relative path begins at the directory of the configuration.
   */
  socket?: string | undefined;
  /** Serve HTTPS on this listener, as `server.tls` does on the other one. */
  tls?: {
    /**
     * File with the certificate and those between it and its root, in PEM. Read again when it changes. Paths
     * begin at the folder of the configuration.
     */
    cert_file: string;
    /** File with the private key of the certificate, in PEM, without a passphrase. Read again when it changes. */
    key_file: string;
    /**
     * File with authorities in PEM. Only clients with a certificate of one of them may connect; they need a key
     * as well. Read again when it changes.
     */
    client_ca_file?: string | undefined;
    /**
     * Oldest version of TLS that is accepted. Changes with a restart.
     *
     * @defaultValue `"TLSv1.2"`
     */
    min_version?: 'TLSv1.2' | 'TLSv1.3' | undefined;
  } | undefined;
  /**
   * Names in the `Host` header by which this listener may be asked, beside `localhost`, `127.0.0.1`, `[::1]`,
   * its own address and `host`. Without this check a page of another site could read it through a name that it
   * points here.
   *
   * @defaultValue `[]`
   */
  hosts?: string[] | undefined;
  /**
   * Who may sign in to the dashboard, by name: `{ password_hash }` as `sluice hash-password` prints it, or `{
   * password: "${NAME}" }` from the environment, with a `role`. Without these, `oidc` and `proxy` there is no
   * dashboard.
   */
  users?: Record<string, {
    /** The password itself, of at least 12 characters; usually `${NAME}` or `${file:PATH}`. */
    password: string;
    /**
     * `admin` may do everything. `operator` changes accounts and keys, but sees neither amounts of money nor the
     * audit log. `viewer` sees everything and changes nothing.
     *
     * @defaultValue `"admin"`
     */
    role?: 'admin' | 'operator' | 'viewer' | undefined;
  } | {
    /** What `sluice hash-password` prints. */
    password_hash: string;
    /**
     * `admin` may do everything. `operator` changes accounts and keys, but sees neither amounts of money nor the
     * audit log. `viewer` sees everything and changes nothing.
     *
     * @defaultValue `"admin"`
     */
    role?: 'admin' | 'operator' | 'viewer' | undefined;
  }> | undefined;
  /**
   * Sign-in by an OpenID provider, beside passwords (needs the package openid-client, to be installed beside
   * sluice).
   */
  oidc?: {
    /** Issuer of the OpenID provider; its `/.well-known/openid-configuration` is read at the first sign-in. */
    issuer: string;
    /** Id of the client that is registered there. */
    client_id: string;
    /** Its secret, usually `${NAME}` or `${file:PATH}`; a public client has none. PKCE is always used. */
    client_secret?: string | undefined;
    /**
     * What is asked for.
     *
     * @defaultValue `["openid","email","profile"]`
     */
    scopes?: string[] | undefined;
    /**
     * Address of the page `sign-in-callback` as browsers see it, as it is registered at the provider. Without
     * it, it is made from the `Host` of the request.
     */
    redirect_url?: string | undefined;
    /**
     * Text of the button on the sign-in page.
     *
     * @defaultValue `"Sign in with SSO"`
     */
    label?: string | undefined;
    /**
     * Claim with the name of a person. An `email` counts only with the `email_verified` of the same answer: ID
     * token or userinfo.
     *
     * @defaultValue `"email"`
     */
    name_claim?: string | undefined;
    /** Who may sign in: `admin`, `operator` or `viewer` by name. Others are refused. */
    roles?: Record<string, 'admin' | 'operator' | 'viewer'> | undefined;
    /** Claim with groups or roles of a person, a text or a list; `realm_access.roles` finds one inside another. */
    role_claim?: string | undefined;
    /**
     * Who else may sign in: role by a value of `role_claim`. A name in `roles` wins; of several values the most
     * powerful role.
     */
    claim_roles?: Record<string, 'admin' | 'operator' | 'viewer'> | undefined;
  } | undefined;
  /** Sign-in by a header of an authenticating proxy, beside the other ways. */
  proxy?: {
    /**
     * Addresses and networks of the proxy. The header is believed on connections from these alone;
     * `X-Forwarded-For` does not count.
     */
    addresses: string[];
    /**
     * Header with the name of the person. The proxy must remove it from what browsers send.
     *
     * @defaultValue `"x-forwarded-user"`
     */
    header?: string | undefined;
    /** Who may enter: `admin`, `operator` or `viewer` by name. Others are refused. */
    roles?: Record<string, 'admin' | 'operator' | 'viewer'> | undefined;
    /** Header with groups or roles of the person, separated by commas, from the same proxy. */
    role_header?: string | undefined;
    /**
     * Who else may enter: role by a value of `role_header`. A name in `roles` wins; of several values the most
     * powerful role.
     */
    header_roles?: Record<string, 'admin' | 'operator' | 'viewer'> | undefined;
  } | undefined;
  /**
   * A session at the dashboard ends when it has not been used for this time. In milliseconds.
   *
   * @defaultValue `1800000`
   */
  session_idle_ms?: number | undefined;
  /**
   * A session at the dashboard ends after this time in any case. In milliseconds.
   *
   * @defaultValue `43200000`
   */
  session_max_ms?: number | undefined;
  /**
   * Believe the last `X-Forwarded-Proto` and `X-Forwarded-For`: only behind a proxy that sets both, and with no
   * other way to this listener.
   *
   * @defaultValue `false`
   */
  trust_proxy?: boolean | undefined;
}

/** The portal, where customers see their own account. */
export interface PortalOptions {
  /**
   * Serve the portal, where customers see their own account and issue its keys: below `path` of the public
   * listener, or as `gateway.portal` in an application.
   *
   * @defaultValue `false`
   */
  enabled?: boolean | undefined;
  /**
   * Where the portal is: on the public listener, or where the application has mounted it. Paths of the API win.
   *
   * @defaultValue `"/portal"`
   */
  path?: string | undefined;
  /**
   * Who may sign in, by name, beside those who are invited in the dashboard: `{ password_hash, account }`, or `{
   * password: "${NAME}", account }`.
   */
  users?: Record<string, {
    /** The password itself, of at least 12 characters; usually `${NAME}` or `${file:PATH}`. */
    password: string;
    /** The id of the account that they see. */
    account: string;
  } | {
    /** What `sluice hash-password` prints. */
    password_hash: string;
    /** The id of the account that they see. */
    account: string;
  }> | undefined;
  /**
   * Sign-in by an OpenID provider, beside passwords (needs the package openid-client, to be installed beside
   * sluice).
   */
  oidc?: {
    /** Issuer of the OpenID provider; its `/.well-known/openid-configuration` is read at the first sign-in. */
    issuer: string;
    /** Id of the client that is registered there. */
    client_id: string;
    /** Its secret, usually `${NAME}` or `${file:PATH}`; a public client has none. PKCE is always used. */
    client_secret?: string | undefined;
    /**
     * What is asked for.
     *
     * @defaultValue `["openid","email","profile"]`
     */
    scopes?: string[] | undefined;
    /**
     * Address of the page `sign-in-callback` as browsers see it, as it is registered at the provider. Without
     * it, it is made from the `Host` of the request.
     */
    redirect_url?: string | undefined;
    /**
     * Text of the button on the sign-in page.
     *
     * @defaultValue `"Sign in with SSO"`
     */
    label?: string | undefined;
    /**
     * Claim with the name of a person. An `email` counts only with the `email_verified` of the same answer: ID
     * token or userinfo.
     *
     * @defaultValue `"email"`
     */
    name_claim?: string | undefined;
    /** Whose account a person sees, by name. */
    accounts?: Record<string, string> | undefined;
    /** Claim with the account of everyone else, a single text: only one that customers cannot choose themselves. */
    account_claim?: string | undefined;
  } | undefined;
  /**
   * A session at the portal ends when it has not been used for this time. In milliseconds.
   *
   * @defaultValue `1800000`
   */
  session_idle_ms?: number | undefined;
  /**
   * A session at the portal ends after this time in any case. In milliseconds.
   *
   * @defaultValue `43200000`
   */
  session_max_ms?: number | undefined;
  /**
   * Keys of an account that work at the same time, beside those of the configuration; above it customers issue
   * none.
   *
   * @defaultValue `20`
   */
  max_keys?: number | undefined;
  /**
   * Believe the last `X-Forwarded-Proto` and `X-Forwarded-For`: only behind a proxy that sets both, and with no
   * other way to this listener.
   *
   * @defaultValue `false`
   */
  trust_proxy?: boolean | undefined;
}

/** The log of the sidecar. */
export interface LogOptions {
  /**
   * One line per exchange at `info`; refusals of clients at `debug`.
   *
   * @defaultValue `"info"`
   */
  level?: 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace' | 'silent' | undefined;
  /**
   * `json`: one object per line. `pretty`: one line for people. `auto`: `pretty` on a terminal, else `json`.
   *
   * @defaultValue `"auto"`
   */
  format?: 'auto' | 'json' | 'pretty' | undefined;
  /**
   * Share of the lines of successful and refused exchanges that is written, from 0 to 1, at random. A line that
   * stands for others has the share as `sample`: count it as 1/`sample`. Failures, exchanges with a failed
   * attempt and those with a recorded trace always have their line.
   *
   * @defaultValue `1`
   */
  sample?: number | undefined;
}

/** What is measured beside the usual. */
export interface MetricsOptions {
  /**
   * Count requests, tokens and cost by account as well (`sluice_account_*`): three to ten series for each
   * account.
   *
   * @defaultValue `false`
   */
  account_label?: boolean | undefined;
}

/** What spans contain. */
export interface TracingOptions {
  /**
   * Put prompts and answers on the spans of attempts. They leave the gateway with the traces.
   *
   * @defaultValue `false`
   */
  capture_content?: boolean | undefined;
  /**
   * No more than this of the prompt and of the answer.
   *
   * @defaultValue `8192`
   */
  max_content_characters?: number | undefined;
}

/** How tokens are counted that the upstream does not report. */
export interface UsageOptions {
  /**
   * How tokens that the upstream has not reported are counted: the starts of words and classes of characters, or
   * the package gpt-tokenizer (to be installed beside sluice; o200k, about 70 MB of memory).
   *
   * @defaultValue `"characters"`
   */
  estimator?: 'characters' | 'gpt-tokenizer' | undefined;
}

/** Options of `/v1/chat/completions`. */
export interface ChatCompletionsOptions {
  /**
   * What reasoning is called in messages and deltas: `reasoning`; `reasoning_content`, the older name and the
   * only one that some clients read; `both`, under each name.
   *
   * @defaultValue `"reasoning"`
   */
  reasoning_key?: 'reasoning' | 'reasoning_content' | 'both' | undefined;
}

/** Options of `/v1/responses`. */
export interface ResponsesOptions {
  /**
   * Where reasoning stands in a response: `message`, first in the message's content; `item`, an output item of
   * its own as OpenAI has it; `summary`, such an item with the text as its summary, where all clients look.
   * `auto`: `summary` for requests with `include`, `store`, `reasoning`, `text`, `tools`, `parallel_tool_calls`,
   * `truncation` or `prompt_cache_key`, as agent clients send them; `message` for others. The header
   * `x-reasoning-placement` overrides it with `message`, `item` or `summary`.
   *
   * @defaultValue `"auto"`
   */
  reasoning_placement?: 'auto' | 'message' | 'item' | 'summary' | undefined;
  /** The same by the name of an account, wherever the account is kept. */
  reasoning_placement_by_account?: Record<string, 'auto' | 'message' | 'item' | 'summary'> | undefined;
}

/** Options of `/v1/messages`. */
export interface MessagesOptions {
  /**
   * Offer `/v1/messages` and `/v1/messages/count_tokens`; otherwise they are unknown paths.
   *
   * @defaultValue `false`
   */
  enabled?: boolean | undefined;
}

/** Where limits, keys, accounts and usage are kept. */
export interface StoresOptions {
  /**
   * Counters, concurrency and what stages cache: `memory` of this process, or a Redis that is shared by all
   * instances that name it: `redis://user:password@host:6379/0`; of a cluster some nodes,
   * `redis+cluster://user:password@host1:6379,host2:6379`; of Sentinels those and the name of the primary,
   * `redis+sentinel://user:password@host1:26379,host2:26379/mymaster/0`, with
   * `?sentinel_username=…&sentinel_password=…` where the Sentinels themselves ask for a password. `rediss` in
   * place of `redis` connects over TLS. Needs the package @redis/client, to be installed beside sluice.
   *
   * @defaultValue `"memory"`
   */
  state?: string | undefined;
  /**
   * The longest that a request waits for Redis before it is decided without it. In milliseconds.
   *
   * @defaultValue `250`
   */
  state_timeout_ms?: number | undefined;
  /**
   * How long a connection to Redis may take to come up; no request waits for it. In milliseconds.
   *
   * @defaultValue `2000`
   */
  state_connect_timeout_ms?: number | undefined;
  /**
   * How long the concurrency that a killed instance held stays taken in Redis. In milliseconds.
   *
   * @defaultValue `15000`
   */
  state_lease_ms?: number | undefined;
  /**
   * Begins the name of every key in Redis; instances with another one share nothing.
   *
   * @defaultValue `"sluice:"`
   */
  state_key_prefix?: string | undefined;
  /**
   * How many instances share Redis at least. `local` divides limits by it where fewer were last seen: an
   * instance that starts during an outage knows of no other.
   *
   * @defaultValue `2`
   */
  state_min_instances?: number | undefined;
  /** What becomes of limits while Redis does not answer or cannot be written, by the name of the limit. */
  on_state_store_down?: {
    /**
     * What becomes of limits while the store is down. `local`: each instance admits its share, the limit ÷ the
     * instances last seen, at least `state_min_instances` (of what was left of a day or month). `open`: the
     * limit is not applied. `closed`: accounts with the limit get 502 `server_error`.
     *
     * @defaultValue `"local"`
     */
    default?: 'open' | 'closed' | 'local' | undefined;
    /** Another policy for this limit. */
    requests_per_minute?: 'open' | 'closed' | 'local' | undefined;
    /** Another policy for this limit. */
    tokens_per_minute?: 'open' | 'closed' | 'local' | undefined;
    /** Another policy for this limit. */
    tokens_per_day?: 'open' | 'closed' | 'local' | undefined;
    /** Another policy for this limit. */
    concurrent_requests?: 'open' | 'closed' | 'local' | undefined;
    /** Another policy for this limit. */
    usd_per_month?: 'open' | 'closed' | 'local' | undefined;
  } | undefined;
  /**
   * Keys, accounts, ledger: `memory`, `sqlite:PATH` or `postgres://…` (needs the package pg, to be installed
   * beside sluice). In memory, issued keys and a short ledger are lost on exit.
   *
   * @defaultValue `"memory"`
   */
  records?: string | undefined;
  /**
   * How long keys that have been used at this instance go on working while the records store is down. In
   * milliseconds.
   *
   * @defaultValue `600000`
   */
  key_cache_ttl_ms?: number | undefined;
  /**
   * The file in which the ledger waits while the records store is down: beside the SQLite file by default,
   * `sluice-ledger-queue.db` with Postgres.
   */
  ledger_queue?: string | undefined;
  /**
   * How many exchanges may wait there; about 1.5 kB each.
   *
   * @defaultValue `1000000`
   */
  ledger_queue_rows?: number | undefined;
  /** How long the records store keeps the ledger; nothing of it is deleted by default. */
  retention?: {
    /**
     * How long the ledger has a row for each exchange: `never` deletes none, `90d` and `12h` are days and hours
     * after its beginning. Their sums stay.
     *
     * @defaultValue `"never"`
     */
    rows?: string | undefined;
    /**
     * How long usage sums by day and month, and the counts of refused requests, are kept: by whole months, `32d`
     * at least, since budgets are read from them. Those by the hour and key are kept for `92d` at most. In
     * memory all are kept for `62d` at most.
     *
     * @defaultValue `"never"`
     */
    sums?: string | undefined;
  } | undefined;
}

/** How an upstream is chosen, and what is tried after a failure. */
export interface RoutingOptions {
  /**
   * Attempts for one request at most, the first included; 1: no failover.
   *
   * @defaultValue `3`
   */
  max_attempts?: number | undefined;
  /**
   * Retries of an upstream that failed, after all others; each after a random wait.
   *
   * @defaultValue `0`
   */
  retries_per_upstream?: number | undefined;
  /**
   * The longest wait before the first retry of the same upstream, doubled for each further one. Never past
   * `stream_commit_ms` or `non_stream_timeout_ms`. In milliseconds.
   *
   * @defaultValue `100`
   */
  backoff_ms?: number | undefined;
  /**
   * The longest of these waits, unless `Retry-After` asks for more. In milliseconds.
   *
   * @defaultValue `2000`
   */
  max_backoff_ms?: number | undefined;
  /**
   * Retry budget: attempts that may follow failed ones, for each request of the last 30 seconds.
   *
   * @defaultValue `0.2`
   */
  retry_ratio?: number | undefined;
  /**
   * Retries per second that are allowed beside those, for models with few requests.
   *
   * @defaultValue `10`
   */
  min_retries_per_second?: number | undefined;
  /**
   * Session affinity: keep a conversation, known by its messages up to the first of the user, at one upstream,
   * whose prefix cache has it.
   *
   * @defaultValue `"none"`
   */
  sticky?: 'none' | 'conversation' | undefined;
  /**
   * How many times its share of the attempts in flight an upstream may have before conversations leave it.
   *
   * @defaultValue `1.5`
   */
  sticky_overload?: number | undefined;
  /**
   * What happens when no upstream is usable (open circuit breaker, `Retry-After`, failing health check): `try`
   * the one that will be first, or `refuse` with 502 and `Retry-After`.
   *
   * @defaultValue `"try"`
   */
  when_all_unavailable?: 'try' | 'refuse' | undefined;
}

/** When a provider's circuit breaker opens, and how it closes again. */
export interface BreakerOptions {
  /**
   * Failed attempts in a row that open the breaker; 0: none.
   *
   * @defaultValue `5`
   */
  consecutive_failures?: number | undefined;
  /**
   * Share of failed attempts among the last `window` above which the breaker opens; 1: none.
   *
   * @defaultValue `0.5`
   */
  failure_ratio?: number | undefined;
  /**
   * How many attempts `failure_ratio` looks back at; half of them must have been made.
   *
   * @defaultValue `50`
   */
  window?: number | undefined;
  /**
   * How long the breaker stays open; half of it at random, doubled each time a probe fails. In milliseconds.
   *
   * @defaultValue `5000`
   */
  open_ms?: number | undefined;
  /**
   * The longest such time. In milliseconds.
   *
   * @defaultValue `60000`
   */
  max_open_ms?: number | undefined;
  /**
   * Attempts that must succeed before the breaker closes: first one, then two at a time, …
   *
   * @defaultValue `3`
   */
  probes?: number | undefined;
  /**
   * How long the share of requests takes to rise from a tenth to all after the breaker closed. In milliseconds.
   *
   * @defaultValue `10000`
   */
  ramp_ms?: number | undefined;
}

/** How the health of a server is checked. */
export interface HealthCheckOptions {
  /** Requested with GET, from the server's root, such as `/health`; 2xx means healthy. */
  path: string;
  /**
   * The time between two checks. In milliseconds.
   *
   * @defaultValue `10000`
   */
  interval_ms?: number | undefined;
  /**
   * The longest wait for an answer. In milliseconds.
   *
   * @defaultValue `3000`
   */
  timeout_ms?: number | undefined;
  /**
   * Failed checks in a row after which it gets no requests.
   *
   * @defaultValue `2`
   */
  unhealthy_after?: number | undefined;
  /**
   * Passed checks in a row after which it gets requests again.
   *
   * @defaultValue `1`
   */
  healthy_after?: number | undefined;
}

/** A provider, beside the options of its adapter. */
export interface ProviderOptions {
  /** Where the API begins, usually with `/v1`. */
  base_url: string;
  /** Sent as `Authorization: Bearer …`, or as the adapter says; usually `${NAME}` or `${file:PATH}`. */
  api_key?: string | undefined;
  /**
   * Several keys, used in turn in place of `api_key`. One that the upstream refuses (401, 403) or limits (429)
   * is paused while there are others.
   */
  api_keys?: string[] | undefined;
  /** A file with a key in each line, in place of `api_key`; read again when it changes. */
  api_key_file?: string | undefined;
  /** Further headers of every upstream request. */
  headers?: Record<string, string> | undefined;
  /**
   * Request fields outside the interface that this provider may be sent, such as `top_k`.
   *
   * @defaultValue `[]`
   */
  extra_parameters?: string[] | undefined;
  /**
   * Parameters that this server does not take: not sent, and named in `x-ignored-parameters`.
   *
   * @defaultValue `[]`
   */
  drop_parameters?: ('temperature' | 'stop' | 'top_p' | 'presence_penalty' | 'frequency_penalty' | 'parallel_tool_calls' | 'user' | 'prompt_cache_key' | 'seed' | 'logit_bias' | 'logprobs' | 'top_logprobs' | 'response_format' | 'tool_choice')[] | undefined;
  /**
   * Which reasoning that clients send back goes upstream: that of turns that called tools, as many reasoning
   * models require; `always`; or `never`. What is left out is named in `x-ignored-parameters`.
   *
   * @defaultValue `"tool_turns"`
   */
  send_reasoning?: 'tool_turns' | 'always' | 'never' | undefined;
  /**
   * The longest wait for a connection. In milliseconds.
   *
   * @defaultValue `5000`
   */
  connect_timeout_ms?: number | undefined;
  /**
   * The longest wait for the first word of a stream; long prompts may need more than a minute. A whole reply's
   * words come all at once: see `total_timeout_ms`. In milliseconds.
   *
   * @defaultValue `120000`
   */
  first_token_timeout_ms?: number | undefined;
  /**
   * The longest silence of the upstream, before or in its reply. In milliseconds.
   *
   * @defaultValue `600000`
   */
  idle_timeout_ms?: number | undefined;
  /** The longest that one attempt may take, streams included; without it only silence ends one. In milliseconds. */
  total_timeout_ms?: number | undefined;
  /** Attempts at a time. Excess requests go to the next upstream, or are answered 502 `server_error`. */
  max_concurrent?: number | undefined;
  /**
   * How many requests may wait for one of the `max_concurrent` permits before they go to the next upstream.
   *
   * @defaultValue `0`
   */
  max_queue?: number | undefined;
  /**
   * How long they wait at most. In milliseconds.
   *
   * @defaultValue `5000`
   */
  queue_timeout_ms?: number | undefined;
  /** When a circuit breaker keeps requests away from the provider; the table `breaker` below. */
  breaker?: BreakerOptions | undefined;
  /** Checks the health of the server; the table `health_check` below. */
  health_check?: HealthCheckOptions | undefined;
  /**
   * The largest event of a stream.
   *
   * @defaultValue `1048576`
   */
  max_event_bytes?: number | undefined;
  /**
   * Answer the upstream's own 429 as 429 `rate_limit_error` instead of 502 `provider_error`.
   *
   * @defaultValue `false`
   */
  pass_upstream_429?: boolean | undefined;
  /**
   * The largest reply, streamed or not.
   *
   * @defaultValue `67108864`
   */
  max_reply_bytes?: number | undefined;
}

/** One upstream of a model: the provider, and the name there. */
export interface UpstreamOptions {
  /** A name under `providers`. */
  provider: string;
  /** The model's name at that provider. */
  model: string;
  /**
   * Lower numbers are tried first.
   *
   * @defaultValue `1`
   */
  priority?: number | undefined;
  /**
   * Share within the same priority.
   *
   * @defaultValue `1`
   */
  weight?: number | undefined;
}

/** A model: its public catalog entry, and how it is served. */
export interface ModelOptions {
  /** What clients ask for: `<vendor>/<model_name>`. */
  id: string;
  /** Display name. */
  name: string;
  /**
   * Free text.
   *
   * @defaultValue `""`
   */
  description?: string | undefined;
  /** Release date, YYYY-MM-DD; `created` in the catalog is its midnight in UTC. */
  date: string;
  /** Tokens. */
  context_length: number;
  /** Tokens. */
  max_completion_tokens: number;
  /**
   * Shown in the catalog.
   *
   * @defaultValue `false`
   */
  is_moderated?: boolean | undefined;
  /**
   * `modality` as `<input>-><output>`.
   *
   * @defaultValue `{"modality":"text->text"}`
   */
  architecture?: {
    /** `<input>-><output>`, such as `text+image->text`. */
    modality: string;
  } | undefined;
  /**
   * `prompt`, `completion` and, with cache pricing, `input_cache_read`: decimal strings per token.
   * `input_cache_write`, for providers that bill it, is not in the public catalog.
   */
  pricing: {
    /** Price of one token as a decimal string without exponent. */
    prompt: string;
    /** Price of one token as a decimal string without exponent. */
    completion: string;
    /** Price of one token as a decimal string without exponent. */
    input_cache_read?: string | undefined;
    /** Price of one token as a decimal string without exponent. */
    input_cache_write?: string | undefined;
  };
  /** The model reasons before answering. */
  reasoning: boolean;
  /** The model accepts tools. */
  tool_calls: boolean;
  /** `supported`, the accepted `levels`, and the `default` that an omitted value means. */
  reasoning_effort: {
    /** Whether clients can choose an effort. */
    supported: boolean;
    /** The exact accepted values; empty when not supported. */
    levels: string[];
    /** What an omitted value means: one of `levels`, or null. */
    default: string | null;
  };
  /**
   * Who serves it: `provider`, the `model` name there, `priority` (the lowest is asked first), `weight` (share
   * within a priority).
   */
  upstreams: UpstreamOptions[];
  /** What is different from the section `routing` for this model. */
  routing?: {
    /** Attempts for one request at most, the first included; 1: no failover. */
    max_attempts?: number | undefined;
    /** Retries of an upstream that failed, after all others; each after a random wait. */
    retries_per_upstream?: number | undefined;
    /**
     * The longest wait before the first retry of the same upstream, doubled for each further one. Never past
     * `stream_commit_ms` or `non_stream_timeout_ms`. In milliseconds.
     */
    backoff_ms?: number | undefined;
    /** The longest of these waits, unless `Retry-After` asks for more. In milliseconds. */
    max_backoff_ms?: number | undefined;
    /** Retry budget: attempts that may follow failed ones, for each request of the last 30 seconds. */
    retry_ratio?: number | undefined;
    /** Retries per second that are allowed beside those, for models with few requests. */
    min_retries_per_second?: number | undefined;
    /**
     * Session affinity: keep a conversation, known by its messages up to the first of the user, at one upstream,
     * whose prefix cache has it.
     */
    sticky?: 'none' | 'conversation' | undefined;
    /** How many times its share of the attempts in flight an upstream may have before conversations leave it. */
    sticky_overload?: number | undefined;
    /**
     * What happens when no upstream is usable (open circuit breaker, `Retry-After`, failing health check): `try`
     * the one that will be first, or `refuse` with 502 and `Retry-After`.
     */
    when_all_unavailable?: 'try' | 'refuse' | undefined;
  } | undefined;
  /**
   * The chat template puts `<think>` into the prompt, so the text starts inside reasoning. `auto`: decided by a
   * lone `</think>`, non-streamed only.
   *
   * @defaultValue `false`
   */
  starts_in_reasoning?: boolean | 'auto' | undefined;
  /** Upstream request fields per effort level, in place of the adapter's own mapping. */
  effort_map?: Record<string, Record<string, unknown>> | undefined;
  /**
   * Non-streamed request whose client has left: read on and bill, or abort the upstream.
   *
   * @defaultValue `"complete"`
   */
  on_client_gone?: 'complete' | 'abort' | undefined;
}

/** A path that is let through to one provider. */
export interface PassthroughOptions {
  /** A path below `/v1`, or all below it with `/*` at the end; `/v1` itself stands for the `base_url`. */
  path: string;
  /**
   * Methods that are let through.
   *
   * @defaultValue `["POST"]`
   */
  methods?: ('GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE')[] | undefined;
  /** A name under `providers`. */
  provider: string;
  /**
   * The largest request body. It is passed on as it comes and never held in memory.
   *
   * @defaultValue `536870912`
   */
  max_body_bytes?: number | undefined;
  /**
   * The slowest that a request body may come on average once `server.body_timeout_ms` has passed; time in which
   * the upstream does not read is not counted.
   *
   * @defaultValue `1024`
   */
  min_body_bytes_per_second?: number | undefined;
  /**
   * Further request headers that are passed on, such as `openai-beta`.
   *
   * @defaultValue `[]`
   */
  forward_headers?: string[] | undefined;
}

/** Limits of each account of a plan; what is left out is not limited. */
export interface PlanOptions {
  /** Requests in any 60 s. */
  requests_per_minute?: number | undefined;
  /** Tokens of prompts and completions in any 60 s. The amount, or `{ limit, hard }`. */
  tokens_per_minute?: number | {
    /** The amount. */
    limit: number;
    /**
     * Reserve the most that a request may use, and refuse what does not fit; `false` reserves an estimate. By
     * default true of money, false of tokens.
     */
    hard?: boolean | undefined;
  } | undefined;
  /** Tokens of prompts and completions since 00:00 UTC. The amount, or `{ limit, hard }`. */
  tokens_per_day?: number | {
    /** The amount. */
    limit: number;
    /**
     * Reserve the most that a request may use, and refuse what does not fit; `false` reserves an estimate. By
     * default true of money, false of tokens.
     */
    hard?: boolean | undefined;
  } | undefined;
  /** Requests at the same time, with those that are read on after a 524. */
  concurrent_requests?: number | undefined;
  /** Dollars at the catalog's prices since 00:00 UTC of the first of the month. The amount, or `{ limit, hard }`. */
  usd_per_month?: number | string | {
    /** The amount. */
    limit: number | string;
    /**
     * Reserve the most that a request may use, and refuse what does not fit; `false` reserves an estimate. By
     * default true of money, false of tokens.
     */
    hard?: boolean | undefined;
  } | undefined;
  /** Further limits on single models by their ids, which hold beside those on all models. */
  models?: Record<string, {
    /** Requests in any 60 s. */
    requests_per_minute?: number | undefined;
    /** Tokens of prompts and completions in any 60 s. The amount, or `{ limit, hard }`. */
    tokens_per_minute?: number | {
      /** The amount. */
      limit: number;
      /**
       * Reserve the most that a request may use, and refuse what does not fit; `false` reserves an estimate. By
       * default true of money, false of tokens.
       */
      hard?: boolean | undefined;
    } | undefined;
    /** Tokens of prompts and completions since 00:00 UTC. The amount, or `{ limit, hard }`. */
    tokens_per_day?: number | {
      /** The amount. */
      limit: number;
      /**
       * Reserve the most that a request may use, and refuse what does not fit; `false` reserves an estimate. By
       * default true of money, false of tokens.
       */
      hard?: boolean | undefined;
    } | undefined;
    /** Requests at the same time, with those that are read on after a 524. */
    concurrent_requests?: number | undefined;
    /**
     * Dollars at the catalog's prices since 00:00 UTC of the first of the month. The amount, or `{ limit, hard
     * }`.
     */
    usd_per_month?: number | string | {
      /** The amount. */
      limit: number | string;
      /**
       * Reserve the most that a request may use, and refuse what does not fit; `false` reserves an estimate. By
       * default true of money, false of tokens.
       */
      hard?: boolean | undefined;
    } | undefined;
  }> | undefined;
}

/** Limits of one account, in place of those of its plan. */
export interface LimitOverrides {
  /** Requests in any 60 s. */
  requests_per_minute?: number | null | undefined;
  /** Tokens of prompts and completions in any 60 s. The amount, or `{ limit, hard }`. */
  tokens_per_minute?: number | {
    /** The amount. */
    limit: number;
    /**
     * Reserve the most that a request may use, and refuse what does not fit; `false` reserves an estimate. By
     * default true of money, false of tokens.
     */
    hard?: boolean | undefined;
  } | null | undefined;
  /** Tokens of prompts and completions since 00:00 UTC. The amount, or `{ limit, hard }`. */
  tokens_per_day?: number | {
    /** The amount. */
    limit: number;
    /**
     * Reserve the most that a request may use, and refuse what does not fit; `false` reserves an estimate. By
     * default true of money, false of tokens.
     */
    hard?: boolean | undefined;
  } | null | undefined;
  /** Requests at the same time, with those that are read on after a 524. */
  concurrent_requests?: number | null | undefined;
  /** Dollars at the catalog's prices since 00:00 UTC of the first of the month. The amount, or `{ limit, hard }`. */
  usd_per_month?: number | string | {
    /** The amount. */
    limit: number | string;
    /**
     * Reserve the most that a request may use, and refuse what does not fit; `false` reserves an estimate. By
     * default true of money, false of tokens.
     */
    hard?: boolean | undefined;
  } | null | undefined;
  /** The same for the limits on single models. */
  models?: Record<string, {
    /** Requests in any 60 s. */
    requests_per_minute?: number | null | undefined;
    /** Tokens of prompts and completions in any 60 s. The amount, or `{ limit, hard }`. */
    tokens_per_minute?: number | {
      /** The amount. */
      limit: number;
      /**
       * Reserve the most that a request may use, and refuse what does not fit; `false` reserves an estimate. By
       * default true of money, false of tokens.
       */
      hard?: boolean | undefined;
    } | null | undefined;
    /** Tokens of prompts and completions since 00:00 UTC. The amount, or `{ limit, hard }`. */
    tokens_per_day?: number | {
      /** The amount. */
      limit: number;
      /**
       * Reserve the most that a request may use, and refuse what does not fit; `false` reserves an estimate. By
       * default true of money, false of tokens.
       */
      hard?: boolean | undefined;
    } | null | undefined;
    /** Requests at the same time, with those that are read on after a 524. */
    concurrent_requests?: number | null | undefined;
    /**
     * Dollars at the catalog's prices since 00:00 UTC of the first of the month. The amount, or `{ limit, hard
     * }`.
     */
    usd_per_month?: number | string | {
      /** The amount. */
      limit: number | string;
      /**
       * Reserve the most that a request may use, and refuse what does not fit; `false` reserves an estimate. By
       * default true of money, false of tokens.
       */
      hard?: boolean | undefined;
    } | null | undefined;
  }> | undefined;
}

/** An account and its keys. */
export interface AccountOptions {
  /** A name under `plans`. */
  plan?: string | undefined;
  /** Limits in place of those of the plan, name by name; `null` lifts one. */
  limits?: LimitOverrides | undefined;
  /**
   * Keys as `value` or, better, as their `sha256`.
   *
   * @defaultValue `[]`
   */
  keys?: ({
    /** The key itself, of at least 8 characters; usually `${NAME}` or `${file:PATH}`. */
    value: string;
  } | {
    /** The SHA-256 of the key, as 64 hexadecimal digits. */
    sha256: string;
  })[] | undefined;
}

/** A model in front of a handler. */
export interface ChainModelOptions extends Omit<ModelOptions, 'upstreams'> {
  /**
   * Who serves it: `provider`, the `model` name there, `priority` (the lowest is asked first), `weight` (share
   * within a priority).
   */
  upstreams?: UpstreamOptions[] | undefined;
}

/** Options of a chain in the form of a configuration. */
export interface ChainConfig {
  /**
   * The catalog; `validation` needs it. With it the chain answers `GET /v1/models` and `/v1/models/{id}` itself,
   * without a key.
   *
   * @defaultValue `[]`
   */
  models?: ChainModelOptions[] | undefined;
  /** Accounts with their keys; `auth` needs them. */
  accounts?: Record<string, AccountOptions> | undefined;
  /** Limits by plan; `rate-limit` holds them. */
  plans?: Record<string, PlanOptions> | undefined;
  /**
   * Answer 404 for unknown paths below `/v1`, and 405 for wrong methods, before a key is asked for. Otherwise
   * they go to the handler.
   *
   * @defaultValue `false`
   */
  terminal?: boolean | undefined;
  /**
   * Accounts or plans without the stage `auth`, or one of your own with `authenticates: true`, are refused,
   * unless this says that it is meant: everybody is served, or a stage before this chain finds the account.
   *
   * @defaultValue `false`
   */
  open?: boolean | undefined;
  /**
   * What becomes of requests that a stage must read and cannot, as the chain does not speak their format, such
   * as `POST /v1/completions`: 404, or with `pass` to the handler, past `validation`, `redact`, `model-access`,
   * `response-cache`, limits on tokens and money, and stages of your own that look at requests or replies.
   *
   * @defaultValue `"refuse"`
   */
  otherPaths?: 'refuse' | 'pass' | undefined;
  /** How replies at `/v1/chat/completions` that stages look at are written. Options as in a configuration. */
  chat_completions?: ChatCompletionsOptions | undefined;
  /**
   * What becomes of `/v1/responses`: a path like any other (see `otherPaths`), left to a handler that speaks the
   * format only where no stage must read it; or with `from_chat: true` answered by the chain, which asks the
   * handler for `/v1/chat/completions` instead. Other options as in a configuration.
   */
  responses?: {
    /**
     * Where reasoning stands in a response: `message`, first in the message's content; `item`, an output item of
     * its own as OpenAI has it; `summary`, such an item with the text as its summary, where all clients look.
     * `auto`: `summary` for requests with `include`, `store`, `reasoning`, `text`, `tools`,
     * `parallel_tool_calls`, `truncation` or `prompt_cache_key`, as agent clients send them; `message` for
     * others. The header `x-reasoning-placement` overrides it with `message`, `item` or `summary`.
     *
     * @defaultValue `"auto"`
     */
    reasoning_placement?: 'auto' | 'message' | 'item' | 'summary' | undefined;
    /** The same by the name of an account, wherever the account is kept. */
    reasoning_placement_by_account?: Record<string, 'auto' | 'message' | 'item' | 'summary'> | undefined;
    /**
     * Answer `/v1/responses` here, asking the handler for a chat completion.
     *
     * @defaultValue `false`
     */
    from_chat?: boolean | undefined;
  } | undefined;
  /**
   * What becomes of `/v1/messages`: a path like any other (see `otherPaths`), left to a handler that speaks the
   * format only where no stage must read it; or with `from_chat: true` answered by the chain, which asks the
   * handler for `/v1/chat/completions` instead. Other options as in a configuration.
   */
  messages?: {
    /**
     * Answer `/v1/messages` here, asking the handler for a chat completion.
     *
     * @defaultValue `false`
     */
    from_chat?: boolean | undefined;
  } | undefined;
  /**
   * The largest request body, also after decompression.
   *
   * @defaultValue `16777216`
   */
  max_body_bytes?: number | undefined;
  /**
   * The most JSON values in a request body: objects, arrays, strings, numbers and literals. 10,000 messages with
   * parts and tool calls have 130,000.
   *
   * @defaultValue `300000`
   */
  max_body_values?: number | undefined;
  /**
   * The most keys of objects in a request body, all objects together.
   *
   * @defaultValue `150000`
   */
  max_body_keys?: number | undefined;
  /**
   * How many times its size a compressed request body may decompress to, beyond a first mebibyte that any may.
   * JSON shrinks to a tenth, mostly.
   *
   * @defaultValue `100`
   */
  max_decompression_ratio?: number | undefined;
  /**
   * The longest pause between two pieces of a request body. In milliseconds.
   *
   * @defaultValue `30000`
   */
  body_idle_ms?: number | undefined;
  /**
   * How long a request body may take in all, however short its pauses: 16 MiB at 0.5 Mbit/s take 270 s. Longer
   * bodies of `passthrough` must keep to `min_body_bytes_per_second` from then on.
   *
   * @defaultValue `300000`
   */
  body_timeout_ms?: number | undefined;
  /**
   * The most memory, in bytes, that request bodies may take at a time, from their arrival to the end of their
   * exchange: their bytes, decompressed ones included, the parsed form (1 byte for a character, 2 in a body that
   * is not all ASCII or has `\u` escapes; 64 for each value, 128 for each key), and the copy for the provider
   * until its reply begins. A body takes two to three times its size; above the limit it is refused with 502
   * `server_error`. Bodies that take more than 1 MiB are refused at three quarters of it, so that small ones are
   * served beside them. Without it: half of the heap that V8 may use, but at most a third of what the memory of
   * the container, divided by `workers`, has above 256 MiB, or an eighth of it. That is 256 MiB in a container
   * of 1 GiB, and 85 MiB in one of 512 MiB.
   */
  max_buffered_bytes?: number | undefined;
  /**
   * The same for each account; requests without an account share one. Without it: a quarter of
   * `max_buffered_bytes`, but at least five times `max_body_bytes`, so that one largest body is served.
   */
  max_buffered_bytes_per_account?: number | undefined;
  /**
   * How long a stream's status is held back for the upstream's first event. In milliseconds.
   *
   * @defaultValue `10000`
   */
  stream_commit_ms?: number | undefined;
  /**
   * Silence after which a stream sends a comment; 0 sends none but the one that commits. In milliseconds.
   *
   * @defaultValue `15000`
   */
  keepalive_ms?: number | undefined;
  /**
   * How long a client may read nothing while data waits for it. In milliseconds.
   *
   * @defaultValue `60000`
   */
  slow_client_ms?: number | undefined;
  /**
   * The longest silence of the handler, before or in its reply; then the client gets 502, a stream an error
   * event. On paths whose replies no stage looks at, the connection is cut after at most twice this. In
   * milliseconds.
   *
   * @defaultValue `600000`
   */
  idle_timeout_ms?: number | undefined;
  /**
   * After this a non-streamed request is answered 524; generation goes on and is billed. In milliseconds.
   *
   * @defaultValue `120000`
   */
  non_stream_timeout_ms?: number | undefined;
  /**
   * How long a reply is read on after its client was answered 524 or has left. One that is given up then has the
   * end reason `background_aborted` in the ledger. In milliseconds.
   *
   * @defaultValue `900000`
   */
  max_background_ms?: number | undefined;
  /**
   * How many replies are read on at the same time.
   *
   * @defaultValue `256`
   */
  max_background?: number | undefined;
  /**
   * Share of the lines of successful and refused exchanges that is written, from 0 to 1, at random. A line that
   * stands for others has the share as `sample`: count it as 1/`sample`. Failures, exchanges with a failed
   * attempt and those with a recorded trace always have their line.
   *
   * @defaultValue `1`
   */
  log_sample?: number | undefined;
}

/** A model as it is checked: every default is filled in. */
export interface ModelConfig {
  /** What clients ask for: `<vendor>/<model_name>`. */
  id: string;
  /** Display name. */
  name: string;
  /** Free text. */
  description: string;
  /** Release date, YYYY-MM-DD; `created` in the catalog is its midnight in UTC. */
  date: string;
  /** Tokens. */
  context_length: number;
  /** Tokens. */
  max_completion_tokens: number;
  /** Shown in the catalog. */
  is_moderated: boolean;
  /** `modality` as `<input>-><output>`. */
  architecture: {
    /** `<input>-><output>`, such as `text+image->text`. */
    modality: string;
  };
  /**
   * `prompt`, `completion` and, with cache pricing, `input_cache_read`: decimal strings per token.
   * `input_cache_write`, for providers that bill it, is not in the public catalog.
   */
  pricing: {
    /** Price of one token as a decimal string without exponent. */
    prompt: string;
    /** Price of one token as a decimal string without exponent. */
    completion: string;
    /** Price of one token as a decimal string without exponent. */
    input_cache_read?: string | undefined;
    /** Price of one token as a decimal string without exponent. */
    input_cache_write?: string | undefined;
  };
  /** The model reasons before answering. */
  reasoning: boolean;
  /** The model accepts tools. */
  tool_calls: boolean;
  /** `supported`, the accepted `levels`, and the `default` that an omitted value means. */
  reasoning_effort: {
    /** Whether clients can choose an effort. */
    supported: boolean;
    /** The exact accepted values; empty when not supported. */
    levels: string[];
    /** What an omitted value means: one of `levels`, or null. */
    default: string | null;
  };
  /**
   * Who serves it: `provider`, the `model` name there, `priority` (the lowest is asked first), `weight` (share
   * within a priority).
   */
  upstreams: ({
    /** A name under `providers`. */
    provider: string;
    /** The model's name at that provider. */
    model: string;
    /** Lower numbers are tried first. */
    priority: number;
    /** Share within the same priority. */
    weight: number;
  })[];
  /** What is different from the section `routing` for this model. */
  routing: {
    /** Attempts for one request at most, the first included; 1: no failover. */
    max_attempts?: number | undefined;
    /** Retries of an upstream that failed, after all others; each after a random wait. */
    retries_per_upstream?: number | undefined;
    /**
     * The longest wait before the first retry of the same upstream, doubled for each further one. Never past
     * `stream_commit_ms` or `non_stream_timeout_ms`. In milliseconds.
     */
    backoff_ms?: number | undefined;
    /** The longest of these waits, unless `Retry-After` asks for more. In milliseconds. */
    max_backoff_ms?: number | undefined;
    /** Retry budget: attempts that may follow failed ones, for each request of the last 30 seconds. */
    retry_ratio?: number | undefined;
    /** Retries per second that are allowed beside those, for models with few requests. */
    min_retries_per_second?: number | undefined;
    /**
     * Session affinity: keep a conversation, known by its messages up to the first of the user, at one upstream,
     * whose prefix cache has it.
     */
    sticky?: 'none' | 'conversation' | undefined;
    /** How many times its share of the attempts in flight an upstream may have before conversations leave it. */
    sticky_overload?: number | undefined;
    /**
     * What happens when no upstream is usable (open circuit breaker, `Retry-After`, failing health check): `try`
     * the one that will be first, or `refuse` with 502 and `Retry-After`.
     */
    when_all_unavailable?: 'try' | 'refuse' | undefined;
  };
  /**
   * The chat template puts `<think>` into the prompt, so the text starts inside reasoning. `auto`: decided by a
   * lone `</think>`, non-streamed only.
   */
  starts_in_reasoning: boolean | 'auto';
  /** Upstream request fields per effort level, in place of the adapter's own mapping. */
  effort_map: Record<string, Record<string, unknown>>;
  /** Non-streamed request whose client has left: read on and bill, or abort the upstream. */
  on_client_gone: 'complete' | 'abort';
}
