-- ARGV: 3 target, 4 pause without its epoch, 5 the epoch that it had, 6 by. For a
-- pause that the registry has lost: it stays away if it stands, or if it was
-- resumed since. Replies {ok|none, epoch}.
if not decode(ARGV[4]) or string.sub(ARGV[4], -1) ~= '}' then return invalid('pause') end
if redis.call('HEXISTS', pauses, ARGV[3]) == 1 then return { 'none', integer(number(epoch)) } end

-- resumed tells whether the newest events, back to the pause's own time, hold a
-- resume of the target. Each fetch goes on before the oldest event of the last.
local function resumed(target, since)
  local last = '+'
  for _ = 1, 100 do
    local found = redis.call('XREVRANGE', events, last, '-', 'COUNT', 100)
    for _, event in ipairs(found) do
      local fields = {}
      for i = 1, #event[2], 2 do fields[event[2][i]] = event[2][i + 1] end
      if (tonumber(fields.epoch) or 0) <= since then return false end
      if fields.kind == 'resumed' and fields.target == target then return true end
      last = '(' .. event[1]
    end
    if #found < 100 then return false end
  end
  return false
end
if resumed(ARGV[3], tonumber(ARGV[5]) or 0) then return { 'none', integer(number(epoch)) } end

local e = rise(epoch)
redis.call('HSET', pauses, ARGV[3], string.sub(ARGV[4], 1, -2) .. ',"epoch":' .. e .. '}')
announce(e, 're-asserted', ARGV[3], ARGV[6], 'the registry had lost it')
return { 'ok', e }
