import { mostExpiring } from '../../../../algorithms/windows/index.ts'

/**
 * The Lua version of algorithms/windows/expiring-reservations.ts. In Lua, the reservations of a state that expire are in a separate list,
 * `s.more`. A state without expiring reservations has no list `s.more`. `s[6]` is the id of the open reservations.
 */
export const expiringReservations: string = `
function makers.expiring()
  local expiring = {}

  local function unitsOf(s, k)
    local refunded = s[6] - s.more[k + 1]
    return refunded < 0 and 0 or max(0, s.more[k + 2] - refunded)
  end

  local function firstAfter(s, at)
    local more, k = s.more, 1
    while k <= #more and more[k] <= at do k = k + 3 end
    return k
  end

  local function removeFirst(s, k, count)
    for _ = 1, count do table.remove(s.more, k) end
    if #s.more == 0 then s.more = nil end
  end

  function expiring.usedAt(s, used, at)
    for k = 1, firstAfter(s, at) - 1, 3 do used = used - unitsOf(s, k) end
    return max(0, used)
  end

  function expiring.freeAt(s, used, most)
    for k = 1, #s.more, 3 do
      used = used - unitsOf(s, k)
      if used <= most then return s.more[k] end
    end
    return never
  end

  function expiring.isFull(s, at)
    return s.more and #s.more - firstAfter(s, at) + 1 >= ${3 * mostExpiring}
  end

  -- True if one more reservation that expires would be too many for an enforced policy: the function \`isFull\` of granted.ts.
  function expiring.tooMany(policies)
    for n, p in ipairs(policies) do
      if costs then cost = costs[n] end
      if cost > 0 and not p.shadow and p.expiring and expiring.isFull(p.s, p.at) then return true end
    end
  end

  function expiring.add(s, id, units, expiry)
    if not s.more then s.more = {} end
    local k = firstAfter(s, expiry)
    for n, number in ipairs({ expiry, id, units }) do table.insert(s.more, k + n - 1, number) end
  end

  function expiring.remove(s, ticket)
    for k = 1, s.more and #s.more or 0, 3 do
      if s.more[k] == ticket.expiry and s.more[k + 1] == ticket.id and s.more[k + 2] == ticket.units then
        removeFirst(s, k, 3)
        return true
      end
    end
    return false
  end

  function expiring.drop(s, at)
    removeFirst(s, 1, firstAfter(s, at) - 1)
  end

  return expiring
end
`
