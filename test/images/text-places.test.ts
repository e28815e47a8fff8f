import t from 'tap'
import { imageRequestTexts, replaceImageTexts } from '../../lib/images/text-places.ts'
import { ImageRequest } from '../../schemas/images.ts'
import { countSeen, forgottenTexts } from '../support/schema-texts.ts'
import type { ImageEvent } from '../../lib/core/events.ts'

t.test('every string of a request is inspected or excluded for a stated reason', async t => {
  t.same(forgottenTexts(ImageRequest, imageRequestTexts), [])
  t.equal(countSeen(ImageRequest, imageRequestTexts), 2)
})

const replace = (text: string): string => text.replaceAll('Zoë', '(a name)')

t.test('in image events only the revised prompt is text', async t => {
  const events: readonly ImageEvent[] = [
    {
      type: 'image-answer',
      createdSeconds: 1,
      about: {},
      data: [{ url: 'https://x.example/Zoë' }, { b64_json: 'Zoë', revised_prompt: 'of Zoë' }]
    },
    { type: 'image-end', json: '{"b64_json":"Zoë","revised_prompt" : "of Zo\\u00eb", "n":1.0}' },
    { type: 'image-partial', json: '{"b64_json":"Zoë"}' },
    { type: 'image-end', json: '{"size":"Zoë","url":"https://x.example/Zoë"}' },
    { type: 'image-end', json: '{"revised_prompt":null}' },
    { type: 'usage', usage: { promptTokens: 1, completionTokens: 1, totalTokens: 2 } }
  ]
  const [answer, end, ...same] = events.map(event => replaceImageTexts(event, replace))
  t.match(answer, {
    data: [{ url: 'https://x.example/Zoë' }, { b64_json: 'Zoë', revised_prompt: 'of (a name)' }]
  })
  t.match(end, { json: '{"b64_json":"Zoë","revised_prompt" : "of (a name)", "n":1.0}' })
  for (const [index, event] of same.entries()) t.equal(event, events[index + 2])
  for (const event of events) t.equal(replaceImageTexts(event, text => text), event)
})

t.test('a duplicate field cannot hide text, and unknown fields are inspected', async t => {
  const twice = '{"b64_json":"aGk=","revised_prompt":"of Zoë","revised_prompt":"of Zoë, again"}'
  t.same(replaceImageTexts({ type: 'image-end', json: twice }, replace), {
    type: 'image-end',
    json: '{"b64_json":"aGk=","revised_prompt":"of (a name), again"}'
  })
  const looked: Array<readonly [string, string]> = []
  const event: ImageEvent = { type: 'image-partial', json: '{"b64_json":"Zoë","type":"Zoë","x_new":["Zoë"]}' }
  t.equal(replaceImageTexts(event, (text, { kind }) => {
    looked.push([text, kind])
    return text
  }), event)
  t.same(looked, [['x_new', 'fixed'], ['Zoë', 'fixed']])
})
