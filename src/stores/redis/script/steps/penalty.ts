/**
 * The Lua version of algorithms/bans/penalty.ts. The numbers of a state: the time of the last commit, the start of the count, the counted
 * refusals, the number of bans so far, the end of the ban. A penalty with `on: 'spent'` (algorithms/bans/spent-penalty.ts) replaces some of
 * the functions. Every such penalty has `p.spends`.
 */
export const penalty = `
function makers.penalty()
  local unlimited = 4503599627370496
  local aheadAt, ban, atMost, extend, openUnits
  local leastBan = 1000
  local penalty = {}

  -- The last number is the duration of a ban or the sum of the rules, which is less than the duration of any ban.
  function penalty.define(p, after, within, forget, ...)
    p.slots, p.after, p.within, p.forget, p.bans, p.punishes = 5, after, within, forget, { ... }, true
    p.span = max(within, ...)
    if #p.bans > 0 and p.bans[#p.bans] < leastBan then
      local rules = table.remove(p.bans)
      p.extends, p.restarts, p.spends = rules % 2 == 1, rules % 4 >= 2, rules >= 4
    end
    if p.spends then p.slots = 6 end
    p.endsWithWindow = #p.bans == 0
    p.longest = p.endsWithWindow and never or max(spread(p.bans))
  end

  function penalty.wait(p, s, at)
    return max(0, s[5] - aheadAt(s, at) - at)
  end

  function aheadAt(s, at)
    return max(0, s[1] - at)
  end

  function penalty.fits()
    return true
  end

  function penalty.take(p, s, at)
    local ahead = aheadAt(s, at)
    if ahead == 0 then return end
    s[1] = at
    s[2] = max(0, s[2] - ahead)
    s[5] = max(0, s[5] - ahead)
  end

  function penalty.count(p, s, at, _, wait)
    penalty.take(p, s, at)
    local since = at - s[5]
    if since < 0 then
      if p.extends then extend(p, s, at) end
      return
    end
    if p.spends then return end
    if since >= p.forget then s[4] = 0 end
    if s[3] == 0 or at - s[2] >= p.within then s[2], s[3] = at, 0 end
    s[3] = s[3] + 1
    s[1] = at
    if s[3] >= p.after then ban(p, s, at, wait) end
  end

  function ban(p, s, at, wait)
    local bans = s[4]
    local duration = p.endsWithWindow and wait or p.bans[min(bans + 1, #p.bans)]
    if duration == never then return end
    s[5] = min(at + duration, maxSafe)
    s[4] = atMost(p, bans + 1)
    if not p.spends then s[3] = 0 end
  end

  function atMost(p, bans)
    return min(bans, max(1, #p.bans))
  end

  function extend(p, s, at)
    s[5] = max(s[5], at + p.bans[s[4]])
    s[1] = at
  end

  function penalty.spend(p, s, at)
    penalty.take(p, s, at)
    local since = at - s[5]
    if since < 0 then return 0 end
    if since >= p.forget then s[4] = 0 end
    s[1] = at
    ban(p, s, at, 0)
    return s[5] - at
  end

  -- Notes the open units of a reservation. Returns the start of their generation (spent-penalty.ts explains generations).
  function penalty.hold(p, s, at, units)
    local present, before = openUnits(p, s, at)
    if present + before == 0 then s[6], s[2], s[3] = 0, at, 0
    elseif at - s[2] >= p.within then s[6], s[2], s[3] = present, s[2] + p.within, 0 end
    s[1], s[3] = at, s[3] + units
    return s[2]
  end

  function penalty.settle(p, s, at, units, since)
    local age = s[2] - since
    if age ~= 0 and age ~= p.within then return end
    local slot = age == 0 and 3 or 6
    s[1], s[slot] = at, max(0, s[slot] - units)
  end

  function penalty.unban(p, s, at)
    penalty.take(p, s, at)
    if (p.spends or s[3] == 0) and s[5] <= at then return end
    s[1], s[5] = at, min(s[5], at)
    if not p.spends then s[3] = 0 end
  end

  function penalty.refund(p, s, at)
    penalty.take(p, s, at)
  end

  function penalty.report(p, s, at)
    local now = at + aheadAt(s, at)
    local counted = s[3] > 0 and s[2] + p.within or 0
    local forgotten = s[4] > 0 and s[5] + p.forget or 0
    local used = now < counted and s[3] or 0
    if p.spends then
      local present, before = openUnits(p, s, now)
      used = present + before
      counted = present > 0 and s[2] + 2 * p.within or before > 0 and s[2] + p.within or 0
    end
    return s[5] > now and 0 or max(0, unlimited - used), max(0, counted - now, forgotten - now), used
  end

  -- Returns the open units of the present generation, and those of the generation before.
  function openUnits(p, s, now)
    return now < s[2] + 2 * p.within and s[3] or 0, now < s[2] + p.within and s[6] or 0
  end

  function penalty.continues(p, from)
    return from.kind == p.kind
  end

  function penalty.carry(p, s, at, from)
    local present, before = 0, 0
    if from.spends and p.spends then present, before = openUnits(from, s, at + aheadAt(s, at)) end
    penalty.take(p, s, at)
    if from.spends or p.spends then s[3] = present end
    s[6] = p.spends and before or nil
    s[4] = atMost(p, s[4])
    s[5] = min(s[5], s[1] + p.longest)
  end

  return withDefaults(penalty)
end
`
