import t from 'tap'
import { CallRecord } from '../../lib/core/record.ts'
import { updateCall } from '../../lib/core/call.ts'
import { PlaceTable, fixed, text } from '../../lib/json/place-table.ts'
import { once } from '../../lib/pipeline/sources.ts'
import { inspectRequest, type ReplaceTexts } from '../../lib/stages/inspect-request.ts'
import { routedCall } from '../support/stages.ts'
import { replacement, word, wordStages } from '../support/word-stages.ts'
import type { TextGuards } from '../../lib/guards/text-guards.ts'

const places = new PlaceTable({ 'texts[]': text, signed: fixed })

interface Request { readonly texts: readonly string[], readonly signed?: string }

const replaceTexts: ReplaceTexts<Request> = (call, replace) => {
  const request = places.replace(call.request, replace)
  return request === call.request ? call : updateCall(call, { request })
}

async function passed (
  request: Request,
  stages: TextGuards = wordStages(),
  bodyBytes = 10
): Promise<Request> {
  const record = new CallRecord('chat')
  record.request.bodyBytes = bodyBytes
  for await (const call of inspectRequest(stages, { replaceTexts })(once(routedCall(request, { record })))) {
    return call.request
  }
  throw new Error('no call came out')
}

t.test('findings in a request are replaced, and a request without any is the same object', async t => {
  t.same(await passed({ texts: [`in ${word}`, 'x'] }), { texts: [`in ${replacement}`, 'x'] })
  const same = { texts: ['x'], signed: 'y' }
  t.equal(await passed(same), same)
  t.equal(
    await passed(
      { ...same, texts: same.texts }, { layers: [{ kind: 'filters', filter: () => undefined }] }
    ).then(
      ({ texts }) => texts
    ),
    same.texts,
    'which nothing inspects'
  )
  await t.rejects(passed({ texts: [], signed: word }), { code: 'content_policy_violation' })
})

t.test('a large request is searched over several turns, with the same result', async t => {
  const long = `${'x'.repeat(64 * 1024 - 3)}${word}${'y'.repeat(70_000)}${word}${word}`
  const texts = [long, 'x', word, 'z'.repeat(200_000)]
  let turns = 0
  const counting = setInterval(() => undefined, 1_000_000)
  const count = (): void => { turns++; setImmediate(count).unref() }
  setImmediate(count).unref()
  const { texts: replaced } = await passed({ texts }, wordStages(), 1_000_000)
  clearInterval(counting)
  t.same(replaced, texts.map(given => given.replaceAll(word, replacement)))
  t.ok(turns >= 5, `in ${turns} turns`)
  await t.rejects(passed({ texts, signed: `${'x'.repeat(100_000)}${word}` }, wordStages(), 1_000_000), {
    code: 'content_policy_violation'
  })
})

t.test('a long text is searched once, however many turns that takes', async t => {
  let characters = 0
  const stages: TextGuards = {
    layers: [{
      kind: 'filters',
      filter: () => ({
        reach: 10,
        alters: true,
        find: text => {
          characters += text.length
          return []
        },
        refusal: () => { throw new Error('nothing is found') }
      })
    }]
  }
  const length = 4 * 1024 * 1024
  await passed({ texts: ['x'.repeat(length)] }, stages, length)
  t.ok(characters < 1.1 * length, `${characters} characters of ${length}`)
})
