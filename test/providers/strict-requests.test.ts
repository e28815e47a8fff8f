/** Sends random requests and histories to every provider with rules: no body may break one. */

import fc from 'fast-check'
import t from 'tap'
import { providerRules } from '../support/provider-rules.ts'
import { holds } from '../support/property.ts'
import { randomRequests, requestedModels, sentRequest } from '../support/random-requests.ts'
import { rounds } from '../support/rounds.ts'
import type { ProviderKind } from '../../schemas/providers.ts'

for (const [name, models] of Object.entries(requestedModels)) {
  const kind = name as ProviderKind // a key of the table
  const rules = providerRules.filter(({ kinds }) => kinds.includes(kind))

  t.test(`${kind} gets no request that breaks one of its ${rules.length} rules`, async t => {
    let sent = 0
    holds(
      t,
      fc.property(fc.constantFrom(...models), randomRequests, (model, request) => {
        const given = sentRequest(kind, model, request)
        if (given === undefined) return
        sent++
        const broken = rules.filter(({ isBroken }) => isBroken({ model, ...given.body }, given.path))
        if (broken.length > 0) {
          throw new Error(`${broken.map(({ rule }) => rule).join(' ')} ${JSON.stringify(given.body)}`)
        }
      }),
      { numRuns: 300, seed: 1 }
    )
    t.ok(sent > rounds(300) / 3, `${sent} of them were sent`)
  })
}
