/** The state of a key: a key whose budget is used up is active but cannot be used. */

import type { JSX } from 'preact'
import type { Answer } from '../api/client.ts'
import { Badge } from '../parts/badge.tsx'

type Key = Answer<'GET /admin/v1/keys/:key_id'>

const tones = { active: 'good', exhausted: 'bad', expired: 'warn', revoked: 'bad' } as const

export function KeyStatus ({ status, exhausted }: Pick<Key, 'status' | 'exhausted'>): JSX.Element {
  const shown = status === 'active' && exhausted ? 'exhausted' : status
  return <Badge tone={tones[shown]}>{shown}</Badge>
}
