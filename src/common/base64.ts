/** Base64 (RFC 4648, 4), with padding. */
export function base64(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
}
