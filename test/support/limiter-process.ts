/**
 * The limits of a gateway as a process: it decides with a limiter on the store of a data directory, and has a
 * journal there. Its parent makes the calls.
 */

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { LocalLimiter, readUsedFrom } from '../../lib/limits/limiter.ts'
import { isSqlite } from '../../lib/stores/database.ts'
import { openDatabase } from '../../lib/stores/open-database.ts'
import { hasAbandonedJournal, journalName } from '../../lib/usage/journal-name.ts'
import type { ReservationRequest, ActualUsage } from '../../lib/limits/reservation.ts'

interface Message {
  readonly id: number
  readonly wanted?: ReservationRequest
  readonly reservation?: number
  readonly usage?: ActualUsage
}

const [, , directory = ''] = process.argv
const database = await openDatabase(directory)
if (!isSqlite(database)) throw new Error('another store')
writeFileSync(join(directory, journalName()), '\n')
const limiter = new LocalLimiter({
  readUsed: readUsedFrom(database),
  rereadMs: 0,
  shared: database,
  beatMs: 20,
  hasUnrecorded: () => hasAbandonedJournal(directory),
  onFailure: error => { throw error }
})

async function answer ({ id, wanted, reservation, usage }: Message): Promise<void> {
  if (reservation !== undefined && usage !== undefined) limiter.settle(reservation, usage)
  const result = wanted === undefined ? null : await limiter.reserve(wanted)
  process.send?.({ id, result })
}

process.on('message', (message: Message) => void answer(message))
