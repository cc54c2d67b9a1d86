declare module 'koa-ratelimit' {
  const ratelimit: unknown
  export default ratelimit
}
