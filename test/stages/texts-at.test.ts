import t from 'tap'
import { CallRecord } from '../../lib/core/record.ts'
import { PlaceTable, text } from '../../lib/json/place-table.ts'
import { formTextsAt, textsAt } from '../../lib/stages/texts-at.ts'
import { routedCall } from '../support/stages.ts'
import type { UploadedFile, UploadForm } from '../../lib/core/upload.ts'

t.test('texts are replaced in place, and stored bodies have the result', t => {
  const { replaceTexts } = textsAt<{ input: string, model: string }>(new PlaceTable({ input: text }))
  const record = new CallRecord('embeddings')
  const kept: string[] = []
  record.bodies = {
    takeRequest: pieces => {
      kept.push(Buffer.concat(pieces).toString())
    },
    takeForm: () => undefined,
    watch: reply => reply
  }
  const call = routedCall({ input: 'x', model: 'x' }, { record })
  t.equal(replaceTexts(call, given => given), call)
  t.same(replaceTexts(call, given => given.toUpperCase()).request, { input: 'X', model: 'x' })
  t.same(kept, ['{"input":"X","model":"x"}'])
  t.end()
})

t.test('in a form some fields and the names of its files are text', async t => {
  interface Form {
    readonly prompt?: string
    readonly size: string
    readonly n: number
    readonly image: readonly UploadedFile[]
    readonly mask: UploadedFile
    readonly names: readonly string[]
    readonly none: readonly string[]
    readonly about: object
  }
  const file = (name: string): UploadedFile => ({
    name,
    mediaType: 'x',
    sizeBytes: 1,
    head: new Uint8Array([120]),
    open: async function* () {
      yield new Uint8Array()
    }
  })
  const { replaceTexts } = formTextsAt<Form>(['prompt', 'names'])
  const record = new CallRecord('images')
  const kept: UploadForm[] = []
  record.bodies = {
    takeRequest: () => undefined,
    takeForm: form => {
      kept.push(form)
    },
    watch: reply => reply
  }
  const call = routedCall<Form>(
    {
      prompt: 'x',
      size: 'x',
      n: 1,
      image: [file('x'), file('y')],
      mask: file('x'),
      names: ['x', 'y'],
      none: [],
      about: { a: 1 }
    },
    { record }
  )
  t.equal(
    replaceTexts(call, given => given),
    call
  )
  t.same(kept, [])
  const { request } = replaceTexts(call, given => given.replace('x', 'z'))
  t.match(request, {
    prompt: 'z',
    size: 'x',
    n: 1,
    image: [{ name: 'z' }, { name: 'y' }],
    mask: { name: 'z' }
  })
  t.equal(request.image[1], call.request.image[1])
  t.match(kept, [
    {
      fields: { prompt: 'z', size: 'x', n: '1', names: ['z', 'y'], about: '{"a":1}' },
      files: { image: [{ name: 'z' }, { name: 'y' }], mask: [{ name: 'z' }] }
    }
  ])
  t.equal(call.request.prompt, 'x', 'the call itself is as it was')
})
