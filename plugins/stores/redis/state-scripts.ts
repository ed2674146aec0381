import { countersLua } from './lua-counters.ts';
import { script } from './lua-script.ts';

/**
 * Reserves under all limits or under none.
 *
 * `KEYS`: the reservation; the counter of each limit. `ARGV`: the time, id, duration of a lease and of the reservation, 1 to force; for each
 * limit its kind, max and amount. Returns 1 if reserved, 0 if refused, -1 if settled already; the index of the refusing limit; the wait; for
 * each limit the amount used, the time until its reset, and 1 if it was exceeded.
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
 * `KEYS`: the reservation; the counter of each limit. `ARGV`: the time, id, 1 if the reservation was confirmed here, how long an unconfirmed
 * settlement is remembered, milliseconds since the reservation and since the settlement; for each limit its kind, the reserved and the used
 * amount.
 *
 * A confirmed reservation that is missing has been settled. An unconfirmed one (the server was down, or has lost its data) is charged in full
 * and remembered as settled, so that neither a second settlement nor a late reservation counts.
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
 * Extends reservations and their leases; restores leases that the server has lost. Skips what has been settled meanwhile.
 *
 * `KEYS`: for each reservation its key and the counters of its leases. `ARGV`: the time, duration of a lease and of a reservation; for each
 * reservation its id, 1 if it was confirmed here, and how many leases it has.
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

/** Returns the amount used under each limit and the time until its reset. `KEYS`: the counters. `ARGV`: the time; their kinds. */
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
 * Writes a heartbeat, or leaves; returns the number of instances. `KEYS`: their set. `ARGV`: the time, the instance, how long it counts without
 * another heartbeat, 0 to leave.
 *
 * Adds first: a server that is out of memory refuses a script at its first write only if that one may need memory.
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
