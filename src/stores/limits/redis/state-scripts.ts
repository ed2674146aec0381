import { countersLua } from './lua-counters.ts';
import { script } from './lua-script.ts';

/**
 * Reserves under all limits or under none.
 *
 * `KEYS`: the reservation; the counter of each limit. `ARGV`: the time, id, lease, how long the reservation is kept, 1 to force; for each limit its kind,
 * its max, the amount. Answers: 1 reserved, 0 refused, -1 settled before it was reserved; which limit refused; until when; for each
 * limit the amount used, how long that counts, and 1 if it was over.
 */
export const reserveScript = script(
  countersLua,
  `
local reservation, id, lease_ms, reservation_ms, force = KEYS[1], ARGV[2], tonumber(ARGV[3]), ARGV[4], ARGV[5] == '1'
if redis.call('EXISTS', reservation) == 1 then return { -1, 0, 0 } end

local counters, over = {}, {}
local refused_by, retry_ms = 0, 0
for at = 1, #KEYS - 1 do
  local kind, max, amount = ARGV[at * 3 + 3], tonumber(ARGV[at * 3 + 4]), tonumber(ARGV[at * 3 + 5])
  local counter = look(kind, KEYS[at + 1])
  counters[at] = counter
  -- A charge above a whole limit is admitted while the limit is unused.
  local excess = counter.used + math.min(amount, max) - max
  over[at] = excess > 0 and 1 or 0
  if excess > 0 and not force then
    local wait = math.max(1, wait_ms(kind, KEYS[at + 1], counter, excess))
    if wait > retry_ms then refused_by, retry_ms = at, wait end
  end
end

local reply = { refused_by == 0 and 1 or 0, refused_by, retry_ms }
for at = 1, #KEYS - 1 do
  local kind, amount, counter = ARGV[at * 3 + 3], tonumber(ARGV[at * 3 + 5]), counters[at]
  if refused_by == 0 then
    if kind == 'running' then
      lease(KEYS[at + 1], id, lease_ms)
      counter.used = counter.used + 1
    elseif amount > 0 then
      add(kind, KEYS[at + 1], counter, amount, now)
    end
  end
  table.insert(reply, counter.used)
  table.insert(reply, reset_ms(kind, counter))
  table.insert(reply, over[at])
end
if refused_by == 0 then redis.call('SET', reservation, now, 'PX', reservation_ms) end
return reply
`,
);

/**
 * Replaces a reservation by what was used, once, however often it is sent.
 *
 * `KEYS`: the reservation; the counter of each limit. `ARGV`: the time, id, 1 if the reservation was there for certain, how long an uncertain settlement
 * is remembered, how long ago it was reserved and settled; for each limit its kind, the reservation, what was used.
 *
 * A reservation that was there for certain and is not has been settled. One that may never have been there (the server was out, or has
 * lost its data) is charged in full, and remembered as settled, so that neither a second settlement nor a late reservation counts.
 */
export const settleScript = script(
  countersLua,
  `
local reservation, id, certain, settled_ms = KEYS[1], ARGV[2], ARGV[3] == '1', ARGV[4]
local asked, settled = now - ARGV[5], now - ARGV[6]
local reserved_at = redis.call('GET', reservation)
if reserved_at == 'settled' then return 0 end
if certain then redis.call('DEL', reservation) else redis.call('SET', reservation, 'settled', 'PX', settled_ms) end
reserved_at = tonumber(reserved_at)

for at = 1, #KEYS - 1 do
  local key, kind, reserved, used = KEYS[at + 1], ARGV[at * 3 + 4], tonumber(ARGV[at * 3 + 5]), tonumber(ARGV[at * 3 + 6])
  if kind == 'running' then
    redis.call('ZREM', key, id)
  elseif reserved_at and used ~= reserved then
    -- More is charged to the moment of settlement, less is returned to that of the reservation.
    add(kind, key, look(kind, key), used - reserved, used > reserved and settled or reserved_at)
  elseif not reserved_at and not certain and used > 0 then
    local counter = look(kind, key)
    add(kind, key, counter, math.min(used, reserved), asked)
    if used > reserved then add(kind, key, counter, used - reserved, settled) end
  end
end
return 1
`,
);

/**
 * Keeps what is held alive: its reservation, and its leases, which come back where the server has lost them.
 *
 * `KEYS`: for each that holds its reservation and the counters of its leases. `ARGV`: the time, lease, how long the reservation is kept; for each
 * that holds its id, 1 if the reservation was there for certain, and how many leases it has.
 *
 * What has been settled meanwhile stays so: the settlement may have overtaken this.
 */
export const renewScript = script(
  countersLua,
  `
local lease_ms, reservation_ms, key = tonumber(ARGV[2]), ARGV[3], 1
for at = 4, #ARGV, 3 do
  local reserved_at = redis.call('GET', KEYS[key])
  if reserved_at and reserved_at ~= 'settled' then redis.call('PEXPIRE', KEYS[key], reservation_ms) end
  if reserved_at ~= 'settled' and (reserved_at or ARGV[at + 1] == '0') then
    for leased = key + 1, key + ARGV[at + 2] do lease(KEYS[leased], ARGV[at], lease_ms) end
  end
  key = key + 1 + ARGV[at + 2]
end
return 1
`,
);

/** What has been used under each limit and how long that counts. `KEYS`: the counters. `ARGV`: the time; their kinds. */
export const statusScript = script(
  countersLua,
  `
local reply = {}
for at, key in ipairs(KEYS) do
  local counter = look(ARGV[at + 1], key)
  table.insert(reply, counter.used)
  table.insert(reply, reset_ms(ARGV[at + 1], counter))
end
return reply
`,
);

/**
 * How many instances live, this one among them. `KEYS`: their set. `ARGV`: the time, the instance, how long it lives without another sign; 0 to
 * leave.
 *
 * What adds comes first: a server that is out of memory refuses a script at its first write only if that one may need memory.
 */
export const instancesScript = script(
  countersLua,
  `
if ARGV[3] == '0' then
  redis.call('ZREM', KEYS[1], ARGV[2])
else
  lease(KEYS[1], ARGV[2], tonumber(ARGV[3]))
end
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
return redis.call('ZCARD', KEYS[1])
`,
);
