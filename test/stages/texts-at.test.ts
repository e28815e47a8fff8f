import t from 'tap'
import { CallRecord } from '../../lib/core/record.ts'
import { PlaceTable, text } from '../../lib/json/place-table.ts'
import { textsAt } from '../../lib/stages/texts-at.ts'
import { routedCall } from '../support/stages.ts'

t.test('texts are replaced in their places, and what a project keeps is what is left', t => {
  const { replaceTexts } = textsAt<{ input: string, model: string }>(new PlaceTable({ input: text }))
  const record = new CallRecord('embeddings')
  const kept: string[] = []
  record.bodies = { takeRequest: pieces => { kept.push(Buffer.concat(pieces).toString()) }, takeForm: () => undefined, watch: reply => reply }
  const call = routedCall({ input: 'x', model: 'x' }, { record })
  t.equal(replaceTexts(call, given => given), call)
  t.same(replaceTexts(call, given => given.toUpperCase()).request, { input: 'X', model: 'x' })
  t.same(kept, ['{"input":"X","model":"x"}'])
  t.end()
})
