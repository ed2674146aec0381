import { countersLua } from './lua-counters.ts';
import { script } from './lua-script.ts';

/**
 * Counts a message of a holder of leases, once, and answers it: what `AccountTable.exchange` does in memory, by the same names.
 *
 * `KEYS`: the account's leases; the counter of each row. `ARGV`: the time, holder, session and number of the message; generation and time of
 * its `as_of`, -1 without one; `lease_ms`, `patience_ms`, `remembered_ms`; 1 if holders are asked for returns; the number of rows. For each row its kind, of the
 * calendar the beginning and the end of its period and what was used in it if nothing of it is stored, -1 for unknown, max, `used`, `back`, `block`, and its refunds with their number before them. For each want 1 to force it, and an amount for each row, '' for null.
 *
 * Returns the generation, the time, and 1 if the message is counted, -1 if it is not since the present is in another
 * period, -2 since something unknown is needed; then 1 if the holder had expired; for each row what is granted, used, the
 * time until its reset, what is free, and 1 if it is asked back; for each want the row that refuses it from 0, or -1, the wait, 1 if others
 * hold what is missing, and the rows that are exceeded with their number before them.
 *
 * The leases are a hash: each holder's session by its name, and what all have in common by the empty one. A row that is in no message waits
 * for one before what a dead holder had of it is ended, since its counter is a key of that message.
 */
export const exchangeScript = script(
  countersLua,
  `
local leases, holder, number, seq = KEYS[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local generation, as_of_ms = ARGV[5], tonumber(ARGV[6])
local lease_ms, patience_ms, remembered_ms = tonumber(ARGV[7]), tonumber(ARGV[8]), tonumber(ARGV[9])
local asks_for_returns, row_count = ARGV[10] == '1', tonumber(ARGV[11])
local never_ms, running_retry_ms = 2 ^ 53, 1000
local argument = 11
local function read()
  argument = argument + 1
  return tonumber(ARGV[argument])
end

local rows, by_name, has_refunds, is_other_period = {}, {}, false, false
for at = 1, row_count do
  local key, kind = KEYS[at + 1], ARGV[argument + 1]
  argument = argument + 1
  local row = { name = string.sub(key, #leases - 5), key = key, kind = kind, is_running = kind == 'running' }
  if kind == 'calendar' then
    row.from, row.to, row.past = read(), read(), read()
    if now < row.from or now >= row.to then is_other_period = true end
  end
  row.max, row.reported, row.back, row.asked, row.refunds = read(), read(), read(), read(), {}
  for refund = 1, read() do
    has_refunds = true
    row.refunds[refund] = { read(), read() }
  end
  rows[at], by_name[row.name] = row, row
end
if is_other_period then return { '', now, -1 } end
for _, row in ipairs(rows) do
  if row.past == -1 and redis.call('EXISTS', row.key) == 0 then return { generation, now, -2 } end
end

local stored = redis.call('HMGET', leases, '', holder)
local shared = stored[1] and cmsgpack.unpack(stored[1])
if not shared then
  shared = { generation = string.format('%.0f %s %s', now, holder, ARGV[3]), next_ms = never_ms, live = 0, rows = {} }
end
local session = stored[2] and cmsgpack.unpack(stored[2])
local is_same = session and session.number == number
local is_again = is_same and seq <= session.seq
-- A table that knows nothing of the holder has counted no message of it since it began.
local is_known = generation == shared.generation or is_again or not (session or has_refunds)
local is_next = is_same and seq == session.seq + 1 or not is_same and seq == 1 and not (session and number < session.number)
if as_of_ms < 0 or now - as_of_ms >= remembered_ms or not (is_known and (is_again or is_next)) then
  return { shared.generation, now, 0 }
end
if is_again then return session.answer end

local must_look = now >= shared.next_ms
for _, row in ipairs(rows) do
  row.of_all = shared.rows[row.name] or { blocks = 0, scarce_ms = 0, running = 0 }
  shared.rows[row.name] = row.of_all
  row.counter = row.is_running and {} or look(row)
  row.of_all.to_ms = row.to and row.counter.to
  must_look = must_look or row.of_all.is_left
end
local function used_of(row) return row.is_running and row.of_all.running or row.counter.used end
local function change(row, amount, moment)
  if row.is_running then
    row.of_all.running = math.max(0, row.of_all.running + amount)
  elseif amount ~= 0 then
    add(row, amount, moment)
  end
end

-- Ends what a dead holder has of the rows; returns whether there is something left of others.
local function end_shares(dead)
  local is_left = false
  for name, share in pairs(dead.shares) do
    local row = by_name[name]
    if row then
      row.of_all.blocks = row.of_all.blocks - share.block
      if row.is_running then
        change(row, -share.running, now)
      elseif share.block > 0 and counts(row, dead.ended_ms) then
        change(row, share.block, now)
        share.charged, share.charged_ms = share.charged + share.block, now
      end
      share.block, share.running = 0, 0
    elseif share.block + share.running > 0 then
      is_left = true
      if shared.rows[name] then shared.rows[name].is_left = true end
    end
  end
  return is_left
end
local function store(name, of) redis.call('HSET', leases, name, cmsgpack.pack(of)) end

local others
-- The sessions of other holders by their names.
local function sessions()
  if others then return others end
  others = {}
  local all = redis.call('HGETALL', leases)
  for at = 1, #all, 2 do
    if all[at] ~= '' and all[at] ~= holder then others[all[at]] = cmsgpack.unpack(all[at + 1]) end
  end
  return others
end

if must_look then
  shared.next_ms = never_ms
  for _, row in ipairs(rows) do row.of_all.is_left = nil end
  local function expire(other)
    local next_ms = other.heard_ms + lease_ms
    if not other.ended_ms and next_ms <= now then
      other.ended_ms = next_ms
      shared.live = shared.live - 1
    end
    local is_left = other.ended_ms and end_shares(other)
    if other.ended_ms then next_ms = other.heard_ms + remembered_ms end
    if next_ms > now then shared.next_ms = math.min(shared.next_ms, next_ms) end
    return next_ms <= now and not is_left
  end
  if session then expire(session) end
  for name, other in pairs(sessions()) do
    if expire(other) then
      redis.call('HDEL', leases, name)
      others[name] = nil
    elseif other.ended_ms then
      store(name, other)
    end
  end
end

if session and not is_same then
  if not session.ended_ms then
    session.ended_ms = now
    shared.live = shared.live - 1
  end
  -- What is left of it is ended with its rows.
  if end_shares(session) then store(holder .. ' ' .. session.number, session) end
  session = nil
end
if not session then session = { number = number, seq = 0, ended_ms = now, shares = {} } end
local is_expired = is_same and session.ended_ms ~= nil
if session.ended_ms then shared.live = shared.live + 1 end
session.ended_ms, session.heard_ms, session.seq = nil, now, seq
shared.next_ms = math.min(shared.next_ms, now + lease_ms)

-- Counts what the holder reports of a row.
local function take(row, share)
  local from_block = row.back
  if row.is_running then
    local begun = math.max(row.reported, -share.running)
    share.running = share.running + begun
    change(row, begun, now)
    from_block = from_block + begun
  else
    local charged = math.min(row.reported, share.charged)
    share.charged = share.charged - charged
    change(row, row.reported - charged, now)
    local refunded = math.min(row.back, share.charged)
    share.charged = share.charged - refunded
    change(row, -refunded, share.charged_ms)
    from_block = from_block + row.reported - charged - refunded
  end
  from_block = math.min(from_block, share.block)
  share.block = share.block - from_block
  row.of_all.blocks = row.of_all.blocks - from_block
  for _, refund in ipairs(row.refunds) do change(row, -refund[2], refund[1]) end
end
for _, row in ipairs(rows) do
  local share = session.shares[row.name] or { block = 0, running = 0, charged = 0, charged_ms = 0, returned_ms = 0 }
  session.shares[row.name], row.share = share, share
  take(row, share)
end

-- Whether other holders may return some of a row that is full; from now on they are waited for.
local function is_returning(row)
  if not (asks_for_returns and row.of_all.is_lax) then return false end
  row.of_all.is_lax = nil
  for name, other in pairs(sessions()) do
    local share = not other.ended_ms and other.shares[row.name]
    if share and share.returned_ms > now then
      row.of_all.is_lax = true
      if share.returned_ms > now + patience_ms then
        share.returned_ms = now + patience_ms
        store(name, other)
      end
    end
  end
  return row.of_all.is_lax
end

-- Reserves all amounts or none; adds to the answer.
local function decide(verdicts)
  local force, amounts, over = read() == 1, {}, {}
  local refused_by, retry_ms, is_full = -1, 0, false
  for at, row in ipairs(rows) do
    amounts[at] = read()
    -- What is above a whole limit is admitted while the limit is unused. A ceiling never is.
    local amount = amounts[at] and math.min(amounts[at], row.max)
    if amount and used_of(row) + row.of_all.blocks + amount > row.max then
      table.insert(over, at - 1)
      local excess, wait = used_of(row) + amount - row.max, 0
      if excess > 0 then wait = row.is_running and running_retry_ms or math.max(1, wait_ms(row, excess)) end
      if wait > 0 and not force then is_full = is_full or not is_returning(row) end
      if wait > retry_ms then refused_by, retry_ms = at - 1, wait end
    end
  end
  local is_held = 0
  if #over > 0 and not force then
    if not is_full then
      refused_by, retry_ms, is_held = over[1], patience_ms, 1
      for _, at in ipairs(over) do rows[at + 1].of_all.scarce_ms = now + patience_ms end
    end
  else
    refused_by, retry_ms = -1, 0
    for at, row in ipairs(rows) do
      change(row, amounts[at] or 0, now)
      if row.is_running then row.share.running = row.share.running + (amounts[at] or 0) end
    end
  end
  for _, one in ipairs({ refused_by, retry_ms, is_held, #over }) do table.insert(verdicts, one) end
  for _, at in ipairs(over) do table.insert(verdicts, at) end
end
local verdicts = {}
while argument < #ARGV do decide(verdicts) end

-- Also fills the holder's blocks: of what is free, no more than its part of one half, rounded down, so that blocks end where limits do.
local answer = { shared.generation, now, 1, is_expired and 1 or 0 }
for _, row in ipairs(rows) do
  local share, of_all, used = row.share, row.of_all, used_of(row)
  local is_scarce = now < of_all.scarce_ms
  local free = math.max(0, row.max - used - of_all.blocks)
  local most = is_scarce and 0 or math.floor(free / 2 / shared.live)
  local granted = math.max(0, math.min((is_expired and 0 or row.asked) - share.block, most))
  share.block, of_all.blocks = share.block + granted, of_all.blocks + granted
  local reset = row.is_running and 0 or reset_ms(row)
  local asked_back = is_scarce and 1 or 0
  for _, one in ipairs({ granted, used, reset, free - granted, asked_back }) do table.insert(answer, one) end
  -- When what it does not use will have been returned: never until it is asked, or told that there is little left.
  local is_short = is_scarce or free - granted < row.max / 8
  share.returned_ms = is_short and 0 or never_ms
  if not is_short then of_all.is_lax = true end
  if share.block + share.running + share.charged + share.returned_ms == 0 then session.shares[row.name] = nil end
  local is_kept = is_scarce or of_all.is_left or of_all.is_lax
  if of_all.blocks + of_all.running == 0 and not is_kept then shared.rows[row.name] = nil end
end
for _, one in ipairs(verdicts) do table.insert(answer, one) end

session.answer = answer
store(holder, session)
store('', shared)
local kept_ms = remembered_ms
for _, of_all in pairs(shared.rows) do
  if of_all.blocks > 0 and of_all.to_ms then kept_ms = math.max(kept_ms, of_all.to_ms - now) end
end
redis.call('PEXPIRE', leases, kept_ms)
return answer
`,
);

/**
 * Writes a heartbeat, or leaves; returns the number of instances. `KEYS`: their set. `ARGV`: the time, the instance, how long it counts without
 * another heartbeat, 0 to leave.
 *
 * Adds first: a server that is out of memory refuses a script at its first write only if that one may need memory.
 */
export const instancesScript = script(
  countersLua,
  `
local lives_ms = tonumber(ARGV[3])
if lives_ms == 0 then
  redis.call('ZREM', KEYS[1], ARGV[2])
else
  redis.call('ZADD', KEYS[1], now + lives_ms, ARGV[2])
  redis.call('PEXPIRE', KEYS[1], lives_ms + 1000)
end
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
return redis.call('ZCARD', KEYS[1])
`,
);

/**
 * Notes that an account is asked for, unless it is empty; returns the time, and the accounts that have been since a time. `KEYS`: their set.
 * `ARGV`: the time, the account, the earlier time.
 */
export const askedScript = script(
  countersLua,
  `
if ARGV[2] ~= '' then
  redis.call('ZADD', KEYS[1], now, ARGV[2])
  redis.call('PEXPIRE', KEYS[1], 5000)
  redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - 5000)
  return { now }
end
return { now, unpack(redis.call('ZRANGEBYSCORE', KEYS[1], math.min(ARGV[3], now), '+inf')) }
`,
);
