import { createApp } from './app.mjs'

const server = createApp().listen(3000, () => console.log(`http://localhost:${server.address().port}`))
