/**
 * The Lua version of algorithms/bans/ban.ts: a ban of a key by a call of `ban`. The stored record of a ban has an id that no policy has, a
 * kind that no algorithm has, the start and the end of the ban (7 bytes each), and the reason. Older versions of headgate leave such a
 * record unchanged.
 */
export const bans = `
function makers.bans()
  local bans = {}
  local at
  local lingering = 600000000
  local records = make('parseRecords')

  local function new(from, till, reason)
    local state = pack('<i7i7', from, till) .. reason
    local head = char(1, 0, 0, 0, 0, banKind)
    local size = #state < narrow and char(#state) .. head or char(narrow) .. head .. pack('<I4', #state)
    return { from = from, till = till, reason = reason, record = size .. state }
  end

  -- @param duration in microseconds; Infinity for a ban without end
  function bans.new(now, duration, reason)
    return new(now, duration == never and maxSafe or now + duration, reason)
  end

  function bans.read(value, start, size)
    local from, till = unpack('<i7i7', value, start)
    return new(from, till, sub(value, start + 14, start + size - 1))
  end

  -- Returns the ban if it has not ended at \`now\`, else nil.
  function at(ban, now)
    local duration = ban.till - ban.from
    if ban.till <= now then return nil end
    if ban.till == maxSafe or ban.from - now < max(clockSkew, duration) then return ban end
    return new(now, now + duration, ban.reason)
  end

  -- Adds the longest ban of the request's keys to the reply. Returns true if a key is banned.
  function bans.respond(policies)
    local longest, place
    for n, scope in ipairs(policies.scopes) do
      local ban = scope.ban and at(scope.ban, now)
      if ban and ban ~= scope.ban and verb ~= PEEK then scope.ban, scope.changed = ban, true end
      if scope.ban and scope.ban.till + lingering <= now then scope.ban = nil end
      if ban and (not longest or ban.till > longest.till) then longest, place = ban, n end
    end
    if not longest then return false end
    respond(6)
    respond(longest.till == maxSafe and never or longest.till)
    respond(place)
    size = size + 1
    reply[size] = longest.reason
    return true
  end

  -- Sets the ban of a key. A ban that only extends leaves a ban in progress that ends later. If \`ban\` is nil, removes all bans of the
  -- key, also those that penalties began. Returns true if the value of the key cannot be read: then nothing changes.
  function bans.replace(scope, key, ban)
    local loaded = loadedBy and loadedBy[key] or scope.key == key and scope
    if loaded then unload(loaded) end
    local value = written[key]
    if value == nil then value = read[key] end
    if not value and mistyped[key] then return true end
    local kept, expiry, next = '', now, ban
    local function keep(id, definition, start, size, form, record)
      if byte(definition) == banKind then
        local current = ban and ban.extends and at(bans.read(value, start, size), now)
        if current and current.till > next.till then next = current end
        return
      end
      local from = revive(definition)
      if from then
        local s = records.unpackState(from, value, start, size, form)
        if not ban and from.punishes then
          from.algorithm.unban(from, s, effectiveTime(from, s[1], now))
          record = records.pack(from, sub(record, 2, 6 + #definition), s)
        end
        local expires = records.fullAt(from, s, now) + margin
        -- Rounds the expiry time up as packValue does, because readers calculate the expiry of a single record from its state.
        if from.grain then expires = ceil(expires / from.grain) * from.grain end
        expiry = max(expiry, expires)
      else
        expiry = max(expiry, now + records.lifeLeft(key))
      end
      kept = kept .. record
    end
    if value then
      make('carry')
      if not pcall(records.each, value, keep) then return true end
    end
    if next then kept, expiry = kept .. next.record, max(expiry, next.till + margin) end
    written[key], writtenExpiry[key] = kept ~= '' and kept, expiry
  end

  return bans
end
`

/** The Lua version of algorithms/evaluation/spent-quota.ts, for penalties with `on: 'spent'`. */
export const spentQuota = `
function makers.spent()
  local spent = {}
  local hold, counts, isWatched

  -- Notes that a reservation may give its units back, and the time of its ticket.
  function hold(p, units)
    if not takes or units == 0 or p.wait > 0 then return end
    p.since = p.algorithm.hold(p, p.s, p.at, units)
    markWritten(p)
  end

  -- True if the request has counted units that no reservation can give back: it has taken them, or has settled a reservation.
  function counts()
    if verb == SETTLE then return allowed end
    return takes and verb ~= RESERVE and verb ~= RENEW
  end

  -- Begins the ban of a key, or notes the units of a reservation. Returns the duration of the ban; 0 if no ban begins.
  function spent.ban(penalty, policies)
    if verb == RESERVE then hold(penalty, costs and costs[#policies] or cost) end
    if not counts() then return 0 end
    local _, _, open = penalty.algorithm.report(penalty, penalty.s, penalty.at)
    -- In a late settlement, the penalty knows already that the units of the reservation stay used: only more units count.
    local isLate = verb == SETTLE and costs[#policies] == 0
    local isSpent = false
    for n, p in ipairs(policies) do
      local units = costs and costs[n] or cost
      if isLate then units = p.settled and units or 0
      elseif verb == SETTLE then units = verbs.tickets[n] and units + verbs.tickets[n].units or 0 end
      if units > 0 and p.wait == 0 and p.burst > 0 and isWatched(p, penalty) then
        local remaining, _, used = p.algorithm.report(p, p.s, p.at)
        if (used or p.burst - remaining) - open >= p.burst then isSpent = true end
      end
    end
    local duration = isSpent and penalty.algorithm.spend(penalty, penalty.s, penalty.at) or 0
    if duration == 0 then return 0 end
    markWritten(penalty)
    duration = duration + (penalty.at - now)
    if not penalty.shadow then penalty.wait = duration end
    for _, p in ipairs(policies) do
      if isWatched(p, penalty) then
        local _, reset = p.algorithm.report(p, p.s, p.at)
        if penalty.restarts or reset + (p.at - now) <= duration then p.resetWithin = duration end
      end
    end
    return duration
  end

  function isWatched(p, penalty)
    if p.scope ~= penalty.scope or p.punishes then return false end
    return not (p.shadow and not penalty.shadow) and not p.leases and not p.paysLater
  end

  -- Resets the key's other policies that would have their full quota when the ban ends. With the rule \`restart\`, resets all.
  function spent.restart(policies)
    for _, p in ipairs(policies) do
      if p.resetWithin then p.s, p.resetWithin = newState(p), nil end
    end
  end

  return spent
end
`
