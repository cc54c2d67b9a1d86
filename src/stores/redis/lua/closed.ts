/** Restates algorithms/closed.ts. The state stays all zeros. */
export const closed = `
function makers.closed()
  local closed = {}
  local function nothing() end

  function closed.define(p)
    p.slots, p.span, p.tolerance = 3, 0, 0
  end

  function closed.wait(p, s, at, cost)
    return cost > 0 and never or 0
  end

  function closed.fits()
    return true
  end

  closed.take, closed.count, closed.refund = nothing, nothing, nothing

  function closed.report()
    return 0, 0, 0
  end

  function closed.carry()
    return false
  end

  return closed
end
`
