/** The Base64 text of the bytes (RFC 4648, section 4), with padding. */
export function base64(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
}
