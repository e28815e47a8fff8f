import t from 'tap'
import { Type } from 'typebox'
import { ValidationError, type ValidationDetail } from '../../lib/core/errors.ts'
import { once } from '../../lib/pipeline/sources.ts'
import { validateForm } from '../../lib/stages/validate-form.ts'
import { parseFormFields } from '../../lib/validation/form.ts'
import { FormFile } from '../../schemas/form.ts'
import { MapOf, Nullable, OneOf } from '../../schemas/nullable.ts'
import { routedCall } from '../support/stages.ts'
import type { UploadedFile, UploadForm } from '../../lib/core/upload.ts'

const Upload = Type.Object({
  file: FormFile(),
  model: Type.String(),
  language: Nullable(Type.String()),
  response_format: Nullable(OneOf(['json', 'text'])),
  temperature: Nullable(Type.Number({ minimum: 0, maximum: 1 })),
  n: Nullable(Type.Integer({ minimum: 1 })),
  stream: Nullable(Type.Boolean()),
  include: Nullable(Type.Array(OneOf(['logprobs', 'words']))),
  sizes: Nullable(Type.Array(Type.Integer())),
  samples: Nullable(Type.Array(Type.String())),
  chunking: Nullable(Type.Union([Type.Literal('auto'), MapOf(Type.Unknown())])),
  extra: Nullable(MapOf(Type.Unknown())),
  vad: Nullable(
    Type.Union([
      OneOf(['auto']),
      Type.Object({
        type: Type.Literal('server_vad'),
        ms: Type.Optional(Type.Integer()),
        at: Type.Optional(Type.Number({ maximum: 1 }))
      })
    ])
  ),
  images: Nullable(Type.Array(FormFile()))
})

const validUpload = validateForm(Upload)

function upload (name: string): UploadedFile {
  return { name, mediaType: 'audio/mpeg', sizeBytes: 0, open: async function * () {}, head: new Uint8Array() }
}

const song = upload('song.mp3')

function formOf (fields: UploadForm['fields'], files: UploadForm['files'] = { file: [song] }): UploadForm {
  return { fields, files }
}

async function uploadOf (form: unknown) {
  for await (const call of validUpload(once({ ...routedCall(undefined), body: async () => form }))) {
    return call.request
  }
  throw new Error('no call came out')
}

async function detailOf (request: Promise<unknown>): Promise<ValidationDetail[]> {
  try {
    await request
  } catch (error) {
    if (error instanceof ValidationError) return error.detail
    throw error
  }
  throw new Error('the form was accepted')
}

t.test('a form is checked against its schema', async t => {
  t.test('gives numbers, booleans, arrays and files as the schema describes them', async t => {
    t.strictSame(
      await uploadOf(
        formOf({
          model: 'whisper-1',
          language: '',
          temperature: '0.5',
          n: ' 2 ',
          stream: 'True',
          include: 'logprobs, words',
          'sizes[]': ['1', '2'],
          response_format: 'text',
          chunking: '{"type":"server_vad"}',
          unknown: 'x'
        })
      ),
      {
        file: song,
        model: 'whisper-1',
        language: '',
        temperature: 0.5,
        n: 2,
        stream: true,
        include: ['logprobs', 'words'],
        sizes: [1, 2],
        response_format: 'text',
        chunking: { type: 'server_vad' }
      }
    )
  })

  t.test('may spell an array as name[], repeated or with commas', async t => {
    for (const fields of [
      { include: ['logprobs', 'words'] },
      { 'include[]': ['logprobs', 'words'] },
      { include: 'logprobs,words' },
      { include: 'logprobs', 'include[]': 'words' },
      { 'include[1]': 'words', 'include[0]': 'logprobs' }
    ]) {
      t.strictSame((await uploadOf(formOf({ model: 'm', ...fields }))).include, ['logprobs', 'words'])
    }
    for (const fields of [
      { 'samples[]': ['Doe, Jane', ' Bob'] },
      { samples: ['Doe, Jane', 'Bob'] },
      { 'samples[0]': 'Doe, Jane', 'samples[1]': 'Bob' },
      { samples: 'Doe, Jane', 'samples[]': 'Bob' }
    ]) {
      t.strictSame((await uploadOf(formOf({ model: 'm', ...fields }))).samples, ['Doe, Jane', 'Bob'])
    }
    t.strictSame(
      (await uploadOf(formOf({ model: 'm', 'samples[]': 'Acme, Inc.' }))).samples,
      ['Acme, Inc.'],
      'a list of one'
    )
    t.equal((await uploadOf(formOf({ model: 'm', samples: 'a,'.repeat(999) + 'a' }))).samples?.length, 1000)
    const pictures = [upload('a.png'), upload('b.png')]
    for (const files of [
      { 'images[]': pictures },
      { 'images[1]': pictures.slice(1), 'images[0]': pictures.slice(0, 1) }
    ]) {
      t.strictSame((await uploadOf(formOf({ model: 'm' }, { file: [song], ...files }))).images, pictures)
    }
    const samples = ['data:audio/wav;base64,QQ==', 'data:audio/wav;base64,Qg==']
    t.strictSame(
      (await uploadOf(formOf({ model: 'm', 'samples[]': samples }))).samples, samples, 'data URLs stay whole'
    )
  })

  t.test('may spell an object as JSON or as name[key]', async t => {
    for (const fields of [
      { vad: '{"type":"server_vad","ms":300,"at":0.5}' },
      { 'vad[type]': 'server_vad', 'vad[ms]': ['1', '300'], 'vad[at]': '.5' },
      { vad: '{"type":"server_vad","ms":300,"at":0.5}', 'vad[type]': 'auto' }
    ]) {
      t.strictSame((await uploadOf(formOf({ model: 'm', ...fields }))).vad, {
        type: 'server_vad',
        ms: 300,
        at: 0.5
      })
    }
    t.strictSame(
      (
        await uploadOf(
          formOf({ model: 'm', 'vad[type]': 'server_vad', 'vad[constructor]': 'x', 'model[x]': 'y' })
        )
      ).vad,
      {
        type: 'server_vad',
        constructor: 'x'
      }
    )
  })

  t.test('uses the last value of a repeated field, and treats an empty one as absent', async t => {
    const request = await uploadOf(
      formOf({ model: ['a', 'b'], n: '', temperature: '' }, { file: [upload('old'), song] })
    )
    t.strictSame(request, { model: 'b', file: song })
  })

  t.test('is refused with the fault and the name of the field', async t => {
    const rows: Array<[UploadForm, object[]]> = [
      [formOf({ model: 'm' }, {}), [{ loc: ['body', 'file'], msg: 'Field required', type: 'missing' }]],
      [
        formOf({ model: 'm', file: 'text' }, {}),
        [{ loc: ['body', 'file'], msg: 'Value error, expected a file', type: 'value_error' }]
      ],
      [formOf({}), [{ loc: ['body', 'model'], msg: 'Field required', type: 'missing' }]],
      [
        formOf({ model: 'm', n: '1.5' }),
        [
          {
            loc: ['body', 'n'],
            type: 'int_parsing',
            input: '1.5',
            msg: 'Input should be a valid integer, unable to parse string as an integer'
          }
        ]
      ],
      [
        formOf({ model: 'm', temperature: '0x1' }),
        [
          {
            loc: ['body', 'temperature'],
            type: 'float_parsing',
            input: '0x1',
            msg: 'Input should be a valid number, unable to parse string as a number'
          }
        ]
      ],
      [
        formOf({ model: 'm', stream: 'maybe' }),
        [
          {
            loc: ['body', 'stream'],
            type: 'bool_parsing',
            input: 'maybe',
            msg: 'Input should be a valid boolean, unable to interpret input'
          }
        ]
      ],
      [
        formOf({ model: 'm', sizes: '1,x' }),
        [{ loc: ['body', 'sizes', 1], type: 'int_parsing', input: 'x' }]
      ],
      [
        formOf({ model: 'm', chunking: '{"a"' }),
        [{ loc: ['body', 'chunking'], type: 'literal_error', input: '{"a"' }]
      ],
      [
        formOf({ model: 'm', 'vad[type]': 'server_vad', 'vad[ms]': 'x' }),
        [{ loc: ['body', 'vad', 'ms'], type: 'int_parsing', input: 'x' }]
      ],
      [
        formOf({ model: 'm', 'vad[type]': 'server_vad', 'vad[at]': '2' }),
        [{ loc: ['body', 'vad', 'at'], type: 'less_than_equal' }]
      ],
      [formOf({ model: 'm', 'vad[ms]': '1' }), [{ loc: ['body', 'vad', 'type'], type: 'missing' }]],
      [formOf({ model: 'm', extra: 'x' }), [{ loc: ['body', 'extra'], type: 'dict_type', input: 'x' }]],
      [
        formOf({ model: 'm', temperature: '2', n: 'x' }),
        [
          { loc: ['body', 'n'], type: 'int_parsing' },
          { loc: ['body', 'temperature'], type: 'less_than_equal', ctx: { le: 1 } }
        ]
      ],
      [
        formOf({ model: 'm', response_format: 'xml' }),
        [{ loc: ['body', 'response_format'], type: 'literal_error' }]
      ],
      [
        formOf({ model: 'm', samples: 'a,'.repeat(1000) + 'a' }),
        [{ loc: ['body', 'samples'], type: 'value_error', msg: /up to 1000 items/ }]
      ],
      [formOf({ model: 'm', include: 'x' }), [{ loc: ['body', 'include', 0], type: 'literal_error' }]]
    ]
    for (const [form, expected] of rows) {
      const detail = await detailOf(uploadOf(form))
      t.match(detail, expected)
      t.equal(detail.length, expected.length)
    }
  })

  t.test('is required: any other body is refused', async t => {
    for (const body of [undefined, null, 'x', {}, { fields: {} }]) {
      await t.rejects(uploadOf(body), { code: 'unsupported_media_type', status: 415 })
    }
  })
})

t.test(
  'files are named in the checked values and kept in the request; faulty fields are in neither',
  async t => {
    const { values, request, faults } = parseFormFields(Upload, formOf({ model: 'm', n: 'x' }))
    t.strictSame(values, { file: 'song.mp3', model: 'm' })
    t.strictSame(request, { file: song, model: 'm' })
    t.strictSame(faults, [
      {
        loc: ['body', 'n'],
        msg: 'Input should be a valid integer, unable to parse string as an integer',
        type: 'int_parsing',
        input: 'x'
      }
    ])
  }
)

t.test('a form may say on whose behalf it is sent, in every way to write lists and objects', async t => {
  const callerOf = async (fields: UploadForm['fields']) => {
    const call = { ...routedCall(undefined), body: async () => formOf({ model: 'm', ...fields }) }
    for await (const { record: { caller } } of validUpload(once(call))) {
      const { endUser, tags, metadata } = caller
      return { endUser, tags, metadata }
    }
    throw new Error('no call came out')
  }
  const said = { endUser: 'ada', tags: ['a', 'b'], metadata: { job: '1' } }
  const rows: ReadonlyArray<UploadForm['fields']> = [
    { user: 'ada', tags: 'a,b', metadata: '{"job":"1"}' },
    { user: ['bob', 'ada'], tags: ['a', 'b'], 'metadata[job]': '1' },
    { safety_identifier: 'ada', 'tags[]': ['a', 'b'], metadata: '{"job":"1"}' },
    { user: 'ada', 'metadata[job]': '1', 'metadata[tags][]': ['a', 'b'] },
    { user: 'ada', metadata: '{"job":"1","tags":["a","b"]}' }
  ]
  for (const fields of rows) t.match(await callerOf(fields), said, JSON.stringify(fields))
  t.match(await callerOf({ metadata: 'x', 'tags[]': ['a'] }), { tags: ['a'], metadata: undefined })
})
