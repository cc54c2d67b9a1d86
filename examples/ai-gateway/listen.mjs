import { createApp } from './express-app.mjs'

const modelUrl = process.env.MODEL_URL ?? 'http://localhost:11434/v1/chat/completions'
const server = createApp({ modelUrl }).listen(3000, () => console.log(`http://localhost:${server.address().port}`))
