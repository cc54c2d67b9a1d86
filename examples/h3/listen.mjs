import { serve } from 'h3'
import { createApp } from './app.mjs'

serve(createApp(), { port: 3000 })
