/**
 * What all scripts share: the time, and counters of four kinds.
 *
 * - `minute`: a hash of amounts by the second in which they were added, with their `sum` and the seconds `from` and `to` which they lie in.
 *   The running second and the 60 before it count, so that no 60 s hold more than the sum, and an amount counts for 60 to 61 s.
 * - `day`, `month`: a hash of the UTC `period` and what has been `used` in it.
 * - `running`: a sorted set of the ids that hold a lease, by when it ends.
 *
 * Times are those of the server, in milliseconds, unless `ARGV[1]` says what time it is, as tests do; it is 0 otherwise. All numbers are
 * integers below 2^53, which Lua keeps exactly; they must not be joined into strings, which keeps 14 digits of them.
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

-- What counts under a key. What counts no longer is taken away on the way, mostly a second at a time.
local function minute(key)
  local stored = redis.call('HMGET', key, 'sum', 'from', 'to')
  local sum, from, to = tonumber(stored[1]), tonumber(stored[2]), tonumber(stored[3])
  local first = second_of(now) - 60
  if not sum or to < first then
    if sum then redis.call('DEL', key) end
    return { used = 0, from = second_of(now), to = 0 }
  end
  if from < first then
    for second = from, first - 1 do
      local amount = redis.call('HGET', key, second)
      if amount then
        sum = sum - amount
        redis.call('HDEL', key, second)
      end
    end
    from = first
    redis.call('HSET', key, 'sum', sum, 'from', from)
  end
  return { used = sum, from = from, to = to }
end

-- A clock that is set back, or a server that takes over with a slower one, does not give a period twice: the next one goes on counting.
-- One that lies further ahead was written under a wrong clock.
local function calendar(kind, key)
  local period = period_of(kind, now)
  local stored = redis.call('HMGET', key, 'period', 'used')
  local known = tonumber(stored[1])
  if known == period + 1 then period = known end
  local fresh = known ~= period
  return { used = fresh and 0 or tonumber(stored[2]), fresh = fresh, period = period, ends = end_of(kind, period) }
end

local function running(key)
  redis.call('ZREMRANGEBYSCORE', key, '-inf', now)
  return { used = redis.call('ZCARD', key) }
end

local function look(kind, key)
  if kind == 'minute' then return minute(key) end
  if kind == 'running' then return running(key) end
  return calendar(kind, key)
end

-- Until so much no longer counts.
local function wait_ms(kind, key, counter, amount)
  if kind == 'running' then return 1000 end
  if kind ~= 'minute' then return counter.ends - now end
  local stored, amounts = redis.call('HGETALL', key), {}
  for at = 1, #stored, 2 do amounts[stored[at]] = stored[at + 1] end
  for second = counter.from, counter.to do
    amount = amount - (amounts[tostring(second)] or 0)
    if amount <= 0 then return (second + 61) * 1000 - now end
  end
  return minute_ms
end

-- Until nothing counts any longer.
local function reset_ms(kind, counter)
  if kind == 'running' or counter.used <= 0 then return 0 end
  if kind == 'minute' then return (counter.to + 61) * 1000 - now end
  return counter.ends - now
end

-- Counts an amount as of a second; a negative one is given back to it, as far as it is there.
local function add_to_minute(key, counter, amount, second)
  local left = redis.call('HINCRBY', key, second, amount)
  if left <= 0 then
    redis.call('HDEL', key, second)
    amount = amount - left
  end
  counter.used = counter.used + amount
  if second < counter.from then counter.from = second end
  if second > counter.to then
    counter.to = second
    redis.call('PEXPIRE', key, minute_ms + 2000)
  end
  while left <= 0 and counter.to > counter.from and redis.call('HEXISTS', key, counter.to) == 0 do
    counter.to = counter.to - 1
  end
  redis.call('HSET', key, 'sum', counter.used, 'from', counter.from, 'to', counter.to)
end

local function add_to_calendar(key, counter, amount)
  counter.used = math.max(0, counter.used + amount)
  redis.call('HSET', key, 'period', counter.period, 'used', counter.used)
  if counter.fresh then redis.call('PEXPIRE', key, counter.ends - now + minute_ms) end
  counter.fresh = false
end

-- Counts an amount as of a moment, now or past, if that still counts.
local function add(kind, key, counter, amount, moment)
  if kind == 'minute' then
    if second_of(moment) >= second_of(now) - 60 then add_to_minute(key, counter, amount, second_of(moment)) end
  elseif period_of(kind, moment) == period_of(kind, now) or period_of(kind, moment) == counter.period then
    add_to_calendar(key, counter, amount)
  end
end

local function lease(key, id, lease_ms)
  redis.call('ZADD', key, now + lease_ms, id)
  redis.call('PEXPIRE', key, lease_ms + 1000)
end
`;
