// node examples/plans/listen.ts, with Node 22.18 or later
import { createApp } from './app.ts'

createApp().listen(3000, () => console.log("curl -i -H 'x-api-key: key-of-ann' http://localhost:3000/search"))
