/**
 * What all scripts share: the time, and counters of four kinds.
 *
 * - `minute`: a hash of amounts by the second in which they were added. The running second and the 60 before it count, so that no 60 s
 *   hold more than the sum, and an amount counts for 60 to 61 s.
 * - `day`, `month`: a hash of the UTC period and what was added in it.
 * - `running`: a sorted set of the ids that hold a lease, by when it ends.
 *
 * Times are those of the server, in milliseconds, unless `ARGV[1]` says what time it is, as tests do; it is 0 otherwise. All numbers are integers below 2^53,
 * which Lua keeps exactly; they must not be joined into strings, which keeps 14 digits of them.
 */
export const countersLua = `
local minute_ms, day_ms = 60000, 86400000
local now = tonumber(ARGV[1])
if now == 0 then
  local time = redis.call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
end

local function second_of(ms) return math.floor(ms / 1000) end
local function day_of(ms) return math.floor(ms / day_ms) end

-- Months since the year 0 of the day, and the day with which the next one begins (the proleptic Gregorian calendar in eras of 400 years).
local function month_of(ms)
  local day = day_of(ms) + 719468
  local era = math.floor(day / 146097)
  local of_era = day - era * 146097
  local year = math.floor((of_era - math.floor(of_era / 1460) + math.floor(of_era / 36524) - math.floor(of_era / 146096)) / 365)
  local of_year = of_era - (365 * year + math.floor(year / 4) - math.floor(year / 100))
  -- Years begin with March here, so that the leap day is their last.
  local march = math.floor((5 * of_year + 2) / 153)
  return (era * 400 + year) * 12 + march + 2
end
local function first_day_of(month)
  local march = (month - 2) % 12
  local year = (month - 2 - march) / 12
  local era = math.floor(year / 400)
  local of_era = year - era * 400
  local of_year = math.floor((153 * march + 2) / 5)
  return era * 146097 + of_era * 365 + math.floor(of_era / 4) - math.floor(of_era / 100) + of_year - 719468
end

local function period_of(kind, ms)
  if kind == 'day' then return day_of(ms) end
  return month_of(ms)
end
local function end_of(kind, period)
  if kind == 'day' then return (period + 1) * day_ms end
  return first_day_of(period + 1) * day_ms
end

-- What counts under a key: how much, and from when each part of it no longer does.
local function look(kind, key)
  if kind == 'running' then
    redis.call('ZREMRANGEBYSCORE', key, '-inf', now)
    return { used = redis.call('ZCARD', key) }
  end
  if kind ~= 'minute' then
    local period = period_of(kind, now)
    local stored = redis.call('HMGET', key, 'period', 'used')
    local used = 0
    if tonumber(stored[1]) == period then used = tonumber(stored[2]) end
    return { used = used, ends = end_of(kind, period) }
  end
  local counter = { used = 0, newest = 0, seconds = {}, amounts = {} }
  local stored = redis.call('HGETALL', key)
  local first = second_of(now) - 60
  for at = 1, #stored, 2 do
    local second, amount = tonumber(stored[at]), tonumber(stored[at + 1])
    if second < first then
      redis.call('HDEL', key, stored[at])
    else
      counter.used = counter.used + amount
      counter.amounts[second] = amount
      table.insert(counter.seconds, second)
      if second > counter.newest then counter.newest = second end
    end
  end
  return counter
end

-- Until so much no longer counts.
local function wait_ms(kind, counter, amount)
  if kind == 'running' then return 1000 end
  if kind ~= 'minute' then return counter.ends - now end
  table.sort(counter.seconds)
  for _, second in ipairs(counter.seconds) do
    amount = amount - counter.amounts[second]
    if amount <= 0 then return (second + 61) * 1000 - now end
  end
  return minute_ms
end

-- Until nothing counts any longer.
local function reset_ms(kind, counter)
  if kind == 'running' or counter.used <= 0 then return 0 end
  if kind == 'minute' then return (counter.newest + 61) * 1000 - now end
  return counter.ends - now
end

-- Counts an amount as of a moment, now or past, if that still counts; a negative one is given back to that moment.
local function add(kind, key, amount, moment)
  if kind == 'minute' then
    local second = second_of(moment)
    if second < second_of(now) - 60 then return end
    if redis.call('HINCRBY', key, second, amount) <= 0 then redis.call('HDEL', key, second) end
    redis.call('PEXPIRE', key, minute_ms + 2000)
    return
  end
  local period = period_of(kind, now)
  if period_of(kind, moment) ~= period then return end
  if tonumber(redis.call('HGET', key, 'period') or -1) ~= period then
    redis.call('DEL', key)
    redis.call('HSET', key, 'period', period)
  end
  if redis.call('HINCRBY', key, 'used', amount) < 0 then redis.call('HSET', key, 'used', 0) end
  redis.call('PEXPIRE', key, end_of(kind, period) - now + minute_ms)
end

local function lease(key, id, lease_ms)
  redis.call('ZADD', key, now + lease_ms, id)
  redis.call('PEXPIRE', key, lease_ms + 1000)
end
`;
