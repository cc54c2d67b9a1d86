import { createApp } from './app.mjs'

const server = createApp().listen(3000, () => console.log(`ws://localhost:${server.address().port}`))
