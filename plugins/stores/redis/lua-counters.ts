import { type LimitWindow, limitWindows, slots_per_window } from '../../../src/plugin.ts';

const slidingWindows = Object.entries<LimitWindow>(limitWindows).flatMap(([name, window]) =>
  window.kind === 'sliding' ? [`${name} = ${window.duration_ms / slots_per_window}`] : [],
);

/**
 * The part that all scripts begin with: the time, and the counters of the table of limits by the name of their window (`kind`).
 *
 * - A sliding window is a hash of amounts by slot, a 60th of the window, with their `sum` and the first and last slot (`from`, `to`). The
 *   current slot and the 60 before it count.
 * - `day` and `month` are a hash of the UTC `period` and the amount `used` in it.
 *
 * `ARGV[1]` is the time in milliseconds since 1970, or 0 for that of the server. All numbers are integers below 2^53, which Lua keeps
 * exactly; they must not be joined into strings, which keep 14 digits of them.
 */
export const countersLua = `
local day_ms, spare_ms = 86400000, 60000
-- The duration of a slot of each sliding window.
local sliding = { ${slidingWindows.join(', ')} }
local slots = ${slots_per_window}
local now = tonumber(ARGV[1])
if now == 0 then
  local time = redis.call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
end

local function slot_of(kind, ms) return math.floor(ms / sliding[kind]) end
local function day_of(ms) return math.floor(ms / day_ms) end

-- Months are counted from the year 0. In the formula years begin with March, so that the leap day is their last.
local function first_day_of(month)
  local year, of_year = math.floor((month - 2) / 12), (month - 2) % 12
  local leap_days = math.floor(year / 4) - math.floor(year / 100) + math.floor(year / 400)
  return 365 * year + leap_days + math.floor((153 * of_year + 2) / 5) - 719468
end
local function month_of(ms)
  local day = day_of(ms)
  -- By the mean length of a month, which is at most one month off.
  local month = math.floor((day + 719528) / 30.436875)
  if first_day_of(month) > day then return month - 1 end
  if first_day_of(month + 1) <= day then return month + 1 end
  return month
end

local function period_of(kind, ms)
  if kind == 'day' then return day_of(ms) end
  return month_of(ms)
end
local function end_of(kind, period)
  if kind == 'day' then return (period + 1) * day_ms end
  return first_day_of(period + 1) * day_ms
end

-- Also removes the slots that have left the window.
local function window(kind, key)
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

-- Goes on counting in the next period where the clock was set back over its beginning, or another server's clock is slower. A period further
-- ahead was written under a wrong clock.
local function calendar(kind, key)
  local period = period_of(kind, now)
  local stored = redis.call('HMGET', key, 'period', 'used')
  local known = tonumber(stored[1])
  if known == period + 1 then period = known end
  local fresh = known ~= period
  return { used = fresh and 0 or tonumber(stored[2]), fresh = fresh, period = period, ends = end_of(kind, period) }
end

local function look(kind, key)
  if sliding[kind] then return window(kind, key) end
  return calendar(kind, key)
end

-- Milliseconds until that amount no longer counts.
local function wait_ms(kind, key, counter, amount)
  if not sliding[kind] then return counter.ends - now end
  local stored, amounts = redis.call('HGETALL', key), {}
  for at = 1, #stored, 2 do amounts[stored[at]] = stored[at + 1] end
  for slot = counter.from, counter.to do
    amount = amount - (amounts[tostring(slot)] or 0)
    if amount <= 0 then return (slot + slots + 1) * sliding[kind] - now end
  end
  return slots * sliding[kind]
end

-- Milliseconds until nothing counts, or the period ends.
local function reset_ms(kind, counter)
  if not sliding[kind] then return counter.ends - now end
  return counter.used > 0 and (counter.to + slots + 1) * sliding[kind] - now or 0
end

-- Adds an amount to a slot. A negative one is taken from it, down to 0.
local function add_to_window(kind, key, counter, amount, slot)
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
  redis.call('HSET', key, 'period', counter.period, 'used', counter.used)
  if counter.fresh then redis.call('PEXPIRE', key, counter.ends - now + spare_ms) end
  counter.fresh = false
end

-- Adds an amount at a moment, now or past, if that is still in the window.
local function add(kind, key, counter, amount, moment)
  if sliding[kind] then
    local slot = slot_of(kind, moment)
    if slot >= slot_of(kind, now) - slots then add_to_window(kind, key, counter, amount, slot) end
  elseif period_of(kind, moment) == period_of(kind, now) or period_of(kind, moment) == counter.period then
    add_to_calendar(key, counter, amount)
  end
end

-- Whether what was used at a moment counts now.
local function counts(kind, moment)
  if sliding[kind] then return slot_of(kind, moment) >= slot_of(kind, now) - slots end
  return period_of(kind, moment) == period_of(kind, now)
end
`;
