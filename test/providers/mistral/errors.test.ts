import t from 'tap'
import { readError } from '../../../lib/providers/mistral/errors.ts'

t.test('a refusal concerns the document or the fields written by the adapter', async t => {
  const row = (status: number, body: unknown, expected: object): void => {
    t.match(readError({ status, headers: {}, body }), expected, JSON.stringify(body))
  }
  row(400, { message: 'image/bmp is not supported' }, { kind: 'invalid_format', param: 'document' })
  row(400, { message: 'Could not fetch the file' }, { kind: 'invalid_document', param: 'document' })
  row(
    422,
    { detail: [{ loc: ['body', 'document', 'document_url'] }] },
    { kind: 'invalid_document', param: 'document' }
  )
  row(422, { detail: [] }, { kind: 'invalid_document', param: 'document' })
  row(422, { detail: [null, { loc: ['body', 'pages'] }] }, { kind: 'rejected' })
  row(
    400,
    { error: { message: 'The file is damaged', code: 'x' } },
    { kind: 'invalid_document', message: 'The file is damaged', param: 'document' }
  )
  row(
    400,
    { message: 'Invalid model: m', type: 'invalid_model', code: '1500' },
    { kind: 'model', param: 'model' }
  )
  row(429, { message: 'slow down' }, { kind: 'rate_limit' })
})

t.test('the request repeated in a refusal is discarded', async t => {
  const detail = [{ loc: ['body', 'document'], input: 'data:application/pdf;base64,c2VjcmV0' }]
  t.notMatch(JSON.stringify(readError({ status: 422, headers: {}, body: { detail } })), /c2VjcmV0/)
})
