/** The state of a key. */

import type { JSX } from 'preact'
import type { Answer } from '../api/client.ts'
import { Badge } from '../parts/badge.tsx'

type Key = Answer<'GET /admin/v1/keys/:key_id'>

const tones = { active: 'good', expired: 'warn', revoked: 'bad' } as const

export function KeyStatus ({ status }: Pick<Key, 'status'>): JSX.Element {
  return <Badge tone={tones[status]}>{status}</Badge>
}
