import { adapterScales } from './adapter.ts'

adapterScales('xai', 'grok-4')
