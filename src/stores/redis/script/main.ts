import { luaNames } from './kinds.ts'

/*
 * The main part of the script. The script gets the keys of a batch of requests (each key once) and two packed arguments: the requests, and
 * the plans (sets of policies). The script reads all keys with one MGET, serves the requests in order on the unpacked states, and finally
 * writes the keys that changed.
 *
 * Plans, packed by packed-plan.ts. For each plan: "<HH" number of policies, number of scopes. Then for each policy: "<HBBddB" scope, kind,
 * flags, burst, tolerance, number of definition numbers; "Hc0" texts with which stored states of the policy begin, and the formats of
 * these states; the definition numbers as doubles; for a policy with a calendar "<B", how many numbers its thresholds have, and
 * "<dd" the part and the units of each threshold.
 *
 * Requests, packed by wire/whole-script-message.ts. First "<Bd": 48 (`0`) if the call was withdrawn (its connection broke), and the script
 * then does nothing; TTL margin in ms. Then for each request: "<HBddH" plan, verb and flags, time in microseconds (-1: Redis TIME), cost
 * (for a list of costs: how many; else 0 if the policies have different costs), key. Some requests have more, in this order:
 * - "<dddd" for each policy with a calendar: the starts of the windows around the request; all 0 if it cannot begin a window
 * - "<H" a key for each further scope
 * - "<d" a cost for each policy, if the policies have different costs; for a list of costs, for each cost in turn
 * - the tickets of the reservation that a settlement or a renewal changes
 * - how long a refused call has to wait, if its settlement counts the refusal
 * - "<Hdd" for a report with a number: the key under which the number is stored, the number, for how many microseconds Redis
 *   keeps the number
 * - the maxWait of a reservation or renewal, the id for its tickets, and after how many microseconds it gives its units back (0: never)
 * - "<dHc0" the duration and the reason of a ban
 * - the units of a lease, and how many microseconds the lease has to last
 */

export const main: string = `
kinds = ${luaNames}

-- Gives the table \`p\` the numbers of a policy of the kind \`kind\`. Returns false for an unknown kind.
function define(p, kind, ...)
  local name = kinds[kind]
  if not name then return false end
  local algorithm = make(name)
  p.kind, p.algorithm = name, algorithm
  algorithm.define(p, ...)
  if not p.tolerance then p.tolerance = max(clockSkew, p.span) end
  if not algorithm.numberFormat then p.grain = max(1000000, floor(p.span / 16)) end
  return p
end

local function readThresholds(p, position)
  local count
  count, position = unpack('<B', ARGV[2], position)
  if count == 0 then return position end
  p.thresholds = { unpack('<' .. rep('d', count), ARGV[2], position) }
  p.thresholds[count + 1] = nil
  return position + 8 * count
end

local function readPolicy(position)
  local scope, kind, flags, burst, tolerance, count, head
  local longHead, longFormat, shortHead, shortFormat
  scope, kind, flags, burst, tolerance, count, head, longHead, longFormat, shortHead, shortFormat, position =
    unpack('<HBBddBHc0Hc0Hc0Hc0Hc0', ARGV[2], position)
  local p = {
    burst = burst, tolerance = tolerance, head = head, s = false, at = 0, wait = 0, scope = false, first = false,
    countRefused = flags % 2 == 1, shadow = flags % 4 >= 2, promises = flags % 8 >= 4,
    scales = flags % 16 >= 8, retunes = flags >= 16,
    longHead = longHead, longFormat = longFormat, shortHead = shortHead, shortFormat = shortFormat,
  }
  local numbers = { unpack('<' .. rep('d', count), ARGV[2], position) }
  define(p, kind, spread(numbers, 1, count))
  -- Small states of all keys are read into the same table, so that no table is allocated for each key.
  if p.slots <= 6 and not p.grows then
    p.buffer, p.longSize, p.shortSize = { 0, 0, 0, 0, 0, 0 }, #longHead + 7 * p.slots, #shortHead + 7 * p.slots - 7
  end
  position = position + 8 * count
  if p.starts then position = readThresholds(p, position) end
  return p, scope, position
end

local function readPlans()
  local plans, position, length = {}, 1, #ARGV[2]
  while position <= length do
    local policies, count, scopes = { scopes = {}, calendars = {} }
    count, scopes, position = unpack('<HH', ARGV[2], position)
    for scope = 1, scopes do
      -- The policies of one scope; the number of the loaded key, whether it has changed, and when it has its full quota.
      policies.scopes[scope] = { key = false, changed = false, provisional = false, others = nil, fullAt = 0 }
    end
    for n = 1, count do
      local p, scope
      p, scope, position = readPolicy(position)
      scope = policies.scopes[scope]
      scope[#scope + 1], policies[n], p.scope, p.first = p, p, scope, #scope == 0
      if p.starts then policies.calendars[#policies.calendars + 1] = p end
    end
    plans[#plans + 1] = policies
  end
  return plans
end

local requests = ARGV[1]
if byte(requests) == 48 then return redis.error_reply('HEADGATE the connection broke before Redis answered') end
margin = unpack('<d', requests, 2) * 1000
local plans = readPlans()
local serverTime

local function timeNow()
  if not serverTime then
    local time = call('TIME')
    serverTime = time[1] * 1000000 + time[2]
  end
  return serverTime
end

repeat
  read, written, readExpiry, writtenExpiry = call('MGET', spread(KEYS)), {}, {}, {}
  if #plans > 1 then loadedBy = {} end
  reply, size = {}, 1
  local position, length = 10, #requests
  while position <= length do
    local planIndex, verbAndFlags, key, maxWait, expires, id, units, shortestLife, refusedFor, broken, elsewhere, banned
    planIndex, verbAndFlags, now, cost, key, position = unpack('<HBddH', requests, position)
    local policies = plans[planIndex]
    verb = verbAndFlags % 8
    plain = verbAndFlags % 128 < 64 and (verb == CONSUME or verb == RESERVE or verb == PEEK)
    countsLater = verbAndFlags >= 128 and verb == RESERVE
    tellsLater = verbAndFlags % 64 >= 32 and (verb == RESERVE or verb == CHARGE)
    if now < 0 then now = timeNow() end
    if verb ~= RESET then
      for _, p in ipairs(policies.calendars) do
        local starts = p.starts
        starts[1], starts[2], starts[3], starts[4], position = unpack('<dddd', requests, position)
        if starts[4] > 0 and (now < starts[1] or now >= starts[4]) then elsewhere = true end
      end
    end
    for n, scope in ipairs(policies.scopes) do
      if n > 1 then key, position = unpack('<H', requests, position) end
      if verb == RESET then
        if verbAndFlags == RESET then forget(scope, key) end
      else
        if (scope.key ~= key or scope.provisional) and load(scope, key, now, verb == PEEK) then broken = true end
        if scope.ban then banned = true end
      end
    end
    if verb == RESET then
      if verbAndFlags ~= RESET then
        local bans, ban, duration, reason = make('bans')
        if verbAndFlags % 64 == BAN then
          duration, reason, position = unpack('<dHc0', requests, position)
          ban = bans.new(now, duration, reason)
            ban.extends = verbAndFlags >= 64
        end
        broken = bans.replace(policies.scopes[1], key, ban)
      end
      respond(broken and 5 or 1)
    else
      maxWait, expires, costs, list = 0, 0, nil, nil
      if not plain then
        verbs = make('verbs')
        if verbAndFlags % 128 >= 64 and cost > 0 then
          list = make('list')
          position = list.read(cost, policies, position)
        elseif verbAndFlags % 128 >= 64 then
          costs, position = verbs.readCosts(#policies, position)
        end
        if verb == SETTLE or verb == RENEW then verbs.tickets, position = verbs.readTickets(#policies, position) end
        if verb == CHARGE and verbAndFlags >= 128 then position = verbs.readReport(#policies, position, broken or elsewhere) end
        if verb == SETTLE and verbAndFlags >= 128 then refusedFor, position = unpack('<d', requests, position) end
      end
      if verb == RESERVE or verb == RENEW then
        maxWait, id, expires, position = unpack('<ddd', requests, position)
        make('reserve')
      end
      if elsewhere then
        broken = true
        respond(7)
        respond(now)
      elseif broken then
        respond(5)
      else
        -- A call on a banned key is decided as a peek, and then refused.
        banned = banned and make('bans').respond(policies) and (verb == CONSUME or verb == RESERVE or verb == PEEK)
        if banned then verb = PEEK end
        if list then list.evaluateFirst(policies, maxWait) else evaluate(policies, maxWait) end
        if banned then allowed = false end
        if verb == REFUND or verb == SETTLE then
          verbs.giveBack(policies, verbAndFlags >= 128)
          if verb == SETTLE and verbAndFlags >= 128 then verbs.countRefusal(policies, refusedFor) end
        end
        if expires > 0 and takes and make('expiring').tooMany(policies) then
          respond(7)
          respond(never)
        else
          commit(policies, verbAndFlags % 16 >= 8 or (verbAndFlags % 32 >= 16 and not allowed))
          if allowed and (verb == RESERVE or verb == RENEW) then respondTickets(policies, id, expires) end
        end
      end
      if verbAndFlags % 64 >= 32 and verbAndFlags % 8 == CONSUME then
        units, shortestLife, position = unpack('<dd', requests, position)
        if not broken then
          make('lease')
          lease(policies, units, shortestLife)
        end
      end
    end
  end

  for _, policies in ipairs(plans) do
    for _, scope in ipairs(policies.scopes) do
      if scope.key then unload(scope) end
    end
  end
until create(now)
for n = 1, #KEYS do save(n, KEYS[n], now) end
reply[1] = serverTime or -1
return reply
end)()
`
