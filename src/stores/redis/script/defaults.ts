/** The Lua version of the default methods of `Algorithm` (algorithms/algorithm.ts), for algorithms whose own Lua lacks these methods. */
export const defaults = `
function makers.defaults()
  local defaults = {}

  function defaults.fits(p, s, at, cost)
    local _, _, used = p.algorithm.report(p, s, at)
    return used + cost <= maxSafe / 2
  end

  function defaults.count(p, s, at, cost)
    if p.algorithm.fits(p, s, at, cost, 0) then p.algorithm.take(p, s, at, cost, 0) end
  end

  function defaults.refund() end

  function defaults.bookedAt(p, s, at, delay)
    return at + delay
  end

  function defaults.settle() end

  function defaults.continues()
    return false
  end

  return { __index = defaults }
end

local function withDefaults(algorithm)
  return setmetatable(algorithm, make('defaults'))
end
`
