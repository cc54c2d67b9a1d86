import { createApp } from './app.mjs'

const app = await createApp()
console.log(await app.listen({ port: 3000 }))
