import { type LimitWindow, limitWindows, slots_per_window } from '../../../src/plugin.ts';

const slidingWindows = Object.entries<LimitWindow>(limitWindows).flatMap(([name, window]) =>
  window.kind === 'sliding' ? [`${name} = ${window.duration_ms / slots_per_window}`] : [],
);

/**
 * The part that all scripts begin with: the time, and the counters of rows, of which `key` is the key and `kind` the name of the window.
 *
 * - A sliding window is a hash of amounts by slot, a 60th of the window, with their `sum` and the first and last slot (`from`, `to`). The
 *   current slot and the 60 before it count.
 * - `calendar` is a hash of the times at which a period begins and ends (`from`, `to`) and the amount `used` in it. Scripts know no calendar:
 *   the row has the times of the period (`from`, `to`) in which the present is, which is for the caller to see to, and what was used in it
 *   (`past`) where nothing is stored.
 *
 * `ARGV[1]` is the time in milliseconds since 1970, or 0 for that of the server. All numbers are integers below 2^53, which Lua keeps
 * exactly; they must not be joined into strings, which keep 14 digits of them.
 */
export const countersLua = `
local spare_ms = 60000
-- The duration of a slot of each sliding window.
local sliding = { ${slidingWindows.join(', ')} }
local slots = ${slots_per_window}
local now = tonumber(ARGV[1])
if now == 0 then
  local time = redis.call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
end

local function slot_of(kind, ms) return math.floor(ms / sliding[kind]) end

-- Also removes the slots that have left the window.
local function window(row)
  local kind, key = row.kind, row.key
  local stored = redis.call('HMGET', key, 'sum', 'from', 'to')
  local sum, from, to = tonumber(stored[1]), tonumber(stored[2]), tonumber(stored[3])
  local first = slot_of(kind, now) - slots
  if not sum or to < first then
    if sum then redis.call('DEL', key) end
    return { used = 0, from = slot_of(kind, now), to = 0 }
  end
  if from < first then
    for slot = from, first - 1 do
      local amount = redis.call('HGET', key, slot)
      if amount then
        sum = sum - amount
        redis.call('HDEL', key, slot)
      end
    end
    from = first
    redis.call('HSET', key, 'sum', sum, 'from', from)
  end
  return { used = sum, from = from, to = to }
end

local function store_calendar(key, counter)
  redis.call('HSET', key, 'from', counter.from, 'to', counter.to, 'used', counter.used)
  if counter.fresh then redis.call('PEXPIRE', key, counter.to - now + spare_ms) end
  counter.fresh = false
end

-- Goes on counting in the next period where the clock was set back over its beginning, or another server's clock is slower, and in one that
-- a process with another edition of the time zones has begun. A period further ahead was written under a wrong clock.
local function calendar(row)
  local stored = redis.call('HMGET', row.key, 'from', 'to', 'used')
  local from, to = tonumber(stored[1]), tonumber(stored[2])
  if from and now < to and from <= row.to then return { used = tonumber(stored[3]), from = from, to = to } end
  local counter = { used = math.max(0, row.past), from = row.from, to = row.to, fresh = true }
  if counter.used > 0 then store_calendar(row.key, counter) end
  return counter
end

local function look(row)
  if sliding[row.kind] then return window(row) end
  return calendar(row)
end

-- Milliseconds until that amount no longer counts.
local function wait_ms(row, amount)
  local kind, counter = row.kind, row.counter
  if not sliding[kind] then return counter.to - now end
  local stored, amounts = redis.call('HGETALL', row.key), {}
  for at = 1, #stored, 2 do amounts[stored[at]] = stored[at + 1] end
  for slot = counter.from, counter.to do
    amount = amount - (amounts[tostring(slot)] or 0)
    if amount <= 0 then return (slot + slots + 1) * sliding[kind] - now end
  end
  return slots * sliding[kind]
end

-- Milliseconds until nothing counts, or the period ends.
local function reset_ms(row)
  local kind, counter = row.kind, row.counter
  if not sliding[kind] then return counter.to - now end
  return counter.used > 0 and (counter.to + slots + 1) * sliding[kind] - now or 0
end

-- Adds an amount to a slot. A negative one is taken from it, down to 0.
local function add_to_window(row, amount, slot)
  local kind, key, counter = row.kind, row.key, row.counter
  local left = redis.call('HINCRBY', key, slot, amount)
  if left <= 0 then
    redis.call('HDEL', key, slot)
    amount = amount - left
  end
  counter.used = counter.used + amount
  if slot < counter.from then counter.from = slot end
  if slot > counter.to then
    counter.to = slot
    redis.call('PEXPIRE', key, (slots + 2) * sliding[kind])
  end
  while left <= 0 and counter.to > counter.from and redis.call('HEXISTS', key, counter.to) == 0 do
    counter.to = counter.to - 1
  end
  redis.call('HSET', key, 'sum', counter.used, 'from', counter.from, 'to', counter.to)
end

local function add_to_calendar(key, counter, amount)
  counter.used = math.max(0, counter.used + amount)
  store_calendar(key, counter)
end

-- Whether what was used at a moment counts now.
local function counts(row, moment)
  if sliding[row.kind] then return slot_of(row.kind, moment) >= slot_of(row.kind, now) - slots end
  return moment >= row.from and moment < row.counter.to
end

-- Adds an amount at a moment, now or past, if that is still in the window.
local function add(row, amount, moment)
  if not counts(row, moment) then return end
  if sliding[row.kind] then return add_to_window(row, amount, slot_of(row.kind, moment)) end
  add_to_calendar(row.key, row.counter, amount)
end
`;
