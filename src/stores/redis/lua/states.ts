/**
 * The packed value of one key: a layout version, then for each policy its id (from name and numbers), the length of
 * what follows, the time at which it is like new, and its state. Policies that this call does not know are another
 * deploy's: they are kept until they are like new.
 */
export const states = `
local layout = 1
local margin

local function open(value)
  local entry = { held = {}, states = {}, order = {}, dirty = false, now = 0 }
  if not value or byte(value) ~= layout then return entry end
  local at, length, id, payload = 2, #value
  while at <= length do
    id, payload, at = unpack('<c8I4c0', value, at)
    entry.held[id] = payload
    entry.order[#entry.order + 1] = id
  end
  return entry
end

local function forget(entry)
  entry.held, entry.states, entry.order, entry.dirty = {}, {}, {}, true
end

local function new(p)
  if p.algorithm.new then return p.algorithm.new(p) end
  local s = {}
  for n = 1, p.slots do s[n] = 0 end
  return s
end

local function load(p, payload)
  if p.algorithm.load then return p.algorithm.load(p, payload) end
  return { unpack(p.format, payload, 9) }
end

-- A policy's state in the entry of its key.
local function stateOf(p, entry)
  local s = entry.states[p.id]
  if s then return s end
  local payload = entry.held[p.id]
  if payload then
    s = load(p, payload)
    s.kept = true
  else
    s = new(p)
    entry.order[#entry.order + 1] = p.id
  end
  s.policy, s.expires = p, 0
  entry.states[p.id] = s
  return s
end

local function payloadOf(p, s)
  if p.algorithm.save then return p.algorithm.save(p, s) end
  return pack('<d', s.expires) .. pack(p.format, spread(s, 1, p.slots))
end

-- Writes the key with a life until it is like new, and a margin for clocks that differ.
local function save(key, entry)
  local value, expires = '', 0
  for _, id in ipairs(entry.order) do
    local s, payload, lapses = entry.states[id], entry.held[id], 0
    if not s then
      lapses = unpack('<d', payload)
      if lapses <= entry.now then payload = nil end
    elseif s.kept then
      payload, lapses = payloadOf(s.policy, s), s.expires
    end
    if payload then
      value = value .. pack('<c8I4', id, #payload) .. payload
      expires = max(expires, lapses)
    end
  end
  local life = ceil((expires - entry.now) / 1000) + margin
  if value == '' or life <= 0 then
    redis.call('DEL', key)
  else
    redis.call('SET', key, string.char(layout) .. value, 'PX', life)
  end
end
`
