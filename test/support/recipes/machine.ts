import { pathOf } from '../programs.ts';

const portOf = `portOf() { grep -oP "\\"$1\\":\\K\\d+" <<< "$RECIPE_NETWORK"; }`;

/**
 * A machine as a reader administers it: below `$HOME/root` are its `/etc`, `/opt` and `/var/lib`, to which `sudo` leads. Its services are
 * real processes; `systemctl` refuses a unit whose program, configuration or credentials are not where the unit says.
 */
export const machine = (): Readonly<Record<string, string>> => ({
  sudo: `
words=()
for word in "$@"; do words+=("$(sed -E 's#^([A-Z_]+=)?(/(etc|opt|var/lib)/)#\\1'"$HOME"'/root\\2#' <<< "$word")"); done
mkdir -p "$HOME"/root/etc/{systemd/system,nginx/conf.d,caddy} "$HOME/root/var/lib"
env "\${words[@]}" || exit
for file in "$HOME"/root/etc/sluice/*.yaml; do
  if [ -e "$file" ]; then sed -i "s#sqlite:/var/lib/#sqlite:$HOME/root/var/lib/#" "$file"; fi
done`,

  systemctl: `
${portOf}
root="$HOME/root"
unit="$root/etc/systemd/system/sluice.service"
valueOf() { sed -n "s/^$1=//p" "$unit"; }
fail() { echo "systemctl: $*" >&2; exit 1; }
start() {
  local command name source state
  command="$(valueOf ExecStart)"
  IFS=: read -r name source <<< "$(valueOf LoadCredential)"
  state="$root/var/lib/$(valueOf StateDirectory)"
  [ "$(stat --format %a "$root$source")" = 600 ] || fail "$source is not readable for root only"
  [ -e "$root\${command##* }" ] || fail "there is no \${command##* }"
  mkdir -p "$state" && chmod "$(valueOf StateDirectoryMode)" "$state"
  # shellcheck disable=SC2086
  env -i PATH="$PATH" HOME="$HOME" NODE_OPTIONS="$NODE_OPTIONS" RECIPE_NETWORK="$RECIPE_NETWORK" $(valueOf Environment) \\
    CREDENTIALS_DIRECTORY="$root\${source%/*}" $(sed -E "s#(^| )/#\\\\1$root/#g" <<< "$command") >> "$HOME/journal" 2>&1 &
  echo $! > "$HOME/sluice.pid"
}
case "$*" in
  daemon-reload) [ -e "$unit" ] || fail "no unit sluice.service" ;;
  'enable --now sluice') start ;;
  'reload sluice') kill -HUP "$(cat "$HOME/sluice.pid")" ;;
  'is-active sluice') kill -0 "$(cat "$HOME/sluice.pid")" && echo active ;;
  'reload nginx') nginx -g 'daemon off;' > "$HOME/nginx.log" 2>&1 & wait_for "$(portOf 443)" ;;
  'reload caddy') caddy run --config "$root/etc/caddy/Caddyfile" > "$HOME/caddy.log" 2>&1 & wait_for "$(portOf 443)" ;;
  *) fail "unknown: $*" ;;
esac`,

  journalctl: `[ "$1 $2" = '--unit sluice' ] && cat "$HOME/journal"`,
});

/** nginx as Debian has it, which includes `/etc/nginx/conf.d/*.conf`, at free ports. */
export const nginx = (): string => `
${portOf}
folder="$HOME/nginx"
mkdir -p "$folder"
for file in "$HOME"/root/etc/nginx/conf.d/*.conf; do
  sed -e "s#/etc/ssl/#$HOME/root/etc/ssl/#" -e "s/listen 443/listen 127.0.0.1:$(portOf 443)/" "$file" > "$folder/$(basename "$file")"
done
temp() { for name in client_body proxy fastcgi uwsgi scgi; do echo "\${name}_temp_path $folder/$name;"; done; }
cat > "$folder/nginx.main" <<END
$([ "$(id -u)" = 0 ] && echo 'user root;')
pid $folder/pid;
error_log $folder/error.log;
events {}
http {
  access_log off;
  $(temp)
  include $folder/*.conf;
}
END
exec '${pathOf('nginx')}' -p "$folder" -c "$folder/nginx.main" "$@"`;

/** Caddy with a certificate that exists already, in place of one that it asks an authority for, at free ports. */
export const caddy = (): string => `
${portOf}
verb="$1"
file="$HOME/caddy.placed"
printf '{\\n\\tadmin off\\n\\tauto_https disable_redirects\\n}\\n' > "$file"
sed -e "s#^llm.example.com {#https://llm.example.com:$(portOf 443) {\\n\\ttls $HOME/root/etc/ssl/llm.example.com.crt $HOME/root/etc/ssl/llm.example.com.key#" \\
  -e "s/health_port 8081/health_port $(portOf 8081)/" "$3" >> "$file"
export XDG_DATA_HOME="$HOME/caddy" XDG_CONFIG_HOME="$HOME/caddy"
exec '${pathOf('caddy')}' "$verb" --adapter caddyfile --config "$file"`;
