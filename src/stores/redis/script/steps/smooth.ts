/**
 * The Lua version of algorithms/smooth/smooth.ts. The numbers of a state: the time of the last commit, the time of the next free permit,
 * the stored permits, the number of commits; the time of the next free permit and the stored permits, both before the last call; the units
 * of the last call; the id of the open reservations. Stored permits are doubles with the same bits in Lua, in TypeScript and in the stored
 * value.
 */
export const smooth = `
local function makeSmooth(price, rescaled)
  local mostPermits, longest = 2147483647, 4503599627370496
  local freeAt, aheadAt, storedAt, spend, unspend, restart

  local function trunc(number)
    return number < 0 and ceil(number) or floor(number)
  end

  -- The format of numbers in a record is a double, because stored permits may be fractions.
  local smooth = { trunc = trunc, numberFormat = 'd' }

  function smooth.set(p, stable, most, coolDown, dearest, initial)
    p.slots, p.idSlot, p.span, p.stable, p.max, p.coolDown, p.initial = 8, 8, 0, stable, most, coolDown, initial
    p.most = min(mostPermits, floor(longest / max(stable, dearest)))
    -- A policy of a plan has its window in \`p.tolerance\`. A policy made from a stored definition has no tolerance: the price of a permit
    -- replaces it.
    p.rollback = max(clockSkew, ceil(most * coolDown), p.tolerance or stable)
    p.tolerance, p.paysLater = 0, true
  end

  function smooth.wait(p, s, at, cost)
    if cost > p.most then return never end
    return max(0, freeAt(p, s, at) - at)
  end

  function freeAt(p, s, at)
    return s[4] == 0 and at or s[2] - aheadAt(p, s, at)
  end

  function aheadAt(p, s, at)
    local ahead = s[1] - at
    return ahead >= p.rollback and ahead or 0
  end

  function smooth.fits(p, s, at, cost)
    return freeAt(p, s, at) - at + cost * (longest / p.most) <= 2 * longest and cost <= p.most
  end

  function smooth.take(p, s, at, cost)
    local ahead = aheadAt(p, s, at)
    if cost == 0 and ahead == 0 and s[4] ~= 0 then return end
    local free = freeAt(p, s, at)
    local stored = storedAt(p, s, at, free)
    s[1] = ahead > 0 and at or max(s[1], at)
    s[4] = s[4] + 1
    s[5] = max(free, at)
    s[6] = stored
    spend(p, s, cost)
  end

  function storedAt(p, s, at, free)
    if s[4] == 0 then return p.initial end
    local stored = s[3]
    return at > free and min(p.max, stored + (at - free) / p.coolDown) or stored
  end

  function spend(p, s, cost)
    local stored = s[6]
    local spent = min(cost, stored)
    s[2] = s[5] + price(p, stored, spent) + trunc((cost - spent) * p.stable)
    s[3] = stored - spent
    s[7] = cost
  end

  function smooth.settle(p, s, at, units, commit)
    if commit == s[4] then smooth.refund(p, s, at, units) end
  end

  function smooth.refund(p, s, at, cost)
    if aheadAt(p, s, at) > 0 then return end
    local taken = s[7]
    if taken == 0 then unspend(p, s, at, cost) else spend(p, s, max(0, taken - cost)) end
    if cost >= taken then
      s[7] = 0
      s[4] = max(1, s[4] - 1)
    end
  end

  function unspend(p, s, at, cost)
    local stored = s[3]
    local free = freeAt(p, s, at)
    if free <= at then return end
    local spent = min(cost, p.max - stored)
    local back = stored > 0 and price(p, stored + spent, spent) or trunc(cost * p.stable)
    if stored > 0 then s[3] = min(p.max, stored + spent) end
    s[2] = max(at, free - back)
  end

  function smooth.bookedAt(p, s)
    return s[4]
  end

  function smooth.report(p, s, at)
    local free = freeAt(p, s, at)
    local remaining = free <= at and p.most or 0
    if s[4] == 0 then return remaining, 0, 0 end
    local missing = p.max - storedAt(p, s, at, free)
    local owed = max(0, free - at)
    local used = ceil(max(0, missing) + owed / p.stable)
    return remaining, owed + (missing > 0 and ceil(missing * p.coolDown) or 0), used
  end

  function smooth.adopt(p, s, at, from)
    if from.kind ~= p.kind then return false end
    if s[4] == 0 then return true end
    local free = freeAt(from, s, at)
    local stored = rescaled(p, storedAt(from, s, at, free), from.max)
    restart(s, at, max(free, at), stored, s[4] + 1)
    return true
  end

  function smooth.continues(p, from)
    return from.kind == p.kind
  end

  smooth.carry = smooth.adopt

  function restart(s, at, free, stored, commits)
    s[1], s[2], s[3], s[4], s[5], s[6], s[7], s[8] = at, free, stored, commits, free, stored, 0, 0
  end

  return withDefaults(smooth)
end
`
