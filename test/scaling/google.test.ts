import { adapterScales } from './adapter.ts'

adapterScales('google', 'gemini-3-pro-preview')
