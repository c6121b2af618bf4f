-- Common to all scripts. Every script gets the same KEYS, all in one hash slot,
-- and ARGV[1] = registry time in ms (TIME, read outside: some servers refuse it
-- in here), ARGV[2] = channel of changes. A script validates, moves the epoch,
-- writes, and announces last.
local nodes, reports, figures, pulses, pauses, groups, epoch, left, lease, fence, events, work = unpack(KEYS)
local now, channel = tonumber(ARGV[1]), ARGV[2]

local types = {
  [nodes] = 'hash', [reports] = 'hash', [figures] = 'hash', [pulses] = 'zset', [pauses] = 'hash', [groups] = 'hash',
  [epoch] = 'string', [left] = 'hash', [lease] = 'string', [fence] = 'string', [events] = 'stream', [work] = 'hash',
}

-- intact returns an error reply if a key has another type than its own.
local function intact()
  for key, want in pairs(types) do
    local has = redis.call('TYPE', key).ok
    if has ~= 'none' and has ~= want then
      return redis.error_reply('DETOUR key ' .. key .. ' is a ' .. has .. ', not a ' .. want)
    end
  end
end

local function invalid(what)
  return redis.error_reply('DETOUR invalid ' .. what)
end

local function decode(json)
  local ok, value = pcall(cjson.decode, json)
  if ok and type(value) == 'table' then return value end
end

-- integer writes a number without exponent or fraction.
local function integer(n) return string.format('%.0f', n) end

-- number reads a counter; garbage counts as 0.
local function number(key)
  local n = tonumber(redis.call('GET', key) or '0') or 0
  if n ~= n or n < 0 or n >= 9007199254740991 then return 0 end
  return n
end

-- rise moves a counter so that no value comes back, not even after the key was
-- lost: it never falls behind the clock.
local function rise(key)
  local n = integer(math.max(number(key) + 1, now))
  redis.call('SET', key, n)
  return n
end

-- born splits a generation, "<ms>-<random>"; nothing if it is out of form, or
-- beyond what a number holds exactly.
local function born(g)
  local ms, random = string.match(g, '^(%d+)-(.*)$')
  ms = tonumber(ms)
  if ms and ms < 9007199254740991 then return ms, random end
end

-- later tells whether generation a began after b. What is out of form began
-- before everything else.
local function later(a, b)
  local ams, arandom = born(a)
  local bms, brandom = born(b)
  if not ams or not bms then return ams ~= nil end
  if ams ~= bms then return ams > bms end
  return arandom > brandom
end

-- generation returns the registered generation of a node; nil if there is none
-- that can be read.
local function generation(id)
  local json = redis.call('HGET', nodes, id)
  local descriptor = json and decode(json)
  if descriptor and type(descriptor.generation) == 'string' then return descriptor.generation end
end

-- standing tells what a node of generation g is to the registry: ok, register,
-- left or superseded.
local function standing(id, g)
  local current = generation(id)
  if current == g then return 'ok' end
  if current and later(current, g) then return 'superseded' end
  local gone = string.match(redis.call('HGET', left, id) or '', '^(%S+)')
  if gone == g then return 'left' end
  if gone and later(gone, g) then return 'superseded' end
  return 'register'
end

-- pulse returns a node's last pulse as a snapshot holds it, from 1 to what a score
-- holds exactly; 0 if it has none. Servers differ in how they write a score:
-- 4000000000000, 4e+12.
local function pulse(id)
  local text = redis.call('ZSCORE', pulses, id)
  if not text then return 0 end
  local mantissa, exponent = string.match(text, '^([%d.]+)e%+(%d+)$')
  local score = tonumber(text) or (text == 'inf' and math.huge) or 1
  if mantissa then score = tonumber(mantissa) * 10 ^ tonumber(exponent) + 0.5 end
  return math.floor(math.max(1, math.min(score, 9007199254740991)))
end

-- fenced tells whether a sweeper with this fence has been overtaken.
local function fenced(mine) return (tonumber(mine) or 0) < number(fence) end

-- record keeps what happened, publish wakes whoever listens, announce does both.
-- They never fail: the change is made already.
local function record(e, kind, target, by, reason)
  redis.pcall('XADD', events, 'MAXLEN', '~', '10000', '*', 'kind', kind, 'target', target, 'by', by, 'reason', reason, 'epoch', e, 'at_ms', integer(now))
end

local function publish(e) redis.pcall('PUBLISH', channel, e) end

local function announce(e, kind, target, by, reason)
  record(e, kind, target, by, reason)
  publish(e)
end

local broken = intact()
if broken then return broken end
