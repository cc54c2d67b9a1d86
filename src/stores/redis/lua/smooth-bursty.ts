/** Restates algorithms/smooth-bursty.ts. */
export const smoothBursty = `
function makers.smoothBursty()
  local function price()
    return 0
  end

  local bursty = smooth(price)

  function bursty.define(p, stable, most)
    bursty.set(p, stable, most, stable, stable, 0)
  end

  return bursty
end
`
