import t from 'tap'
import { responsesFieldName } from '../../../lib/dialects/responses/field-name.ts'

t.test('fields have the names of the Responses API', async t => {
  const file = (data: string): object => ({ type: 'file', file: { file_data: data } })
  for (const [path, name, of = {}] of [
    ['.image_url.url', '.image_url'],
    ['.file.file_data', '.file_url', file('http://10.0.0.1/a.pdf')],
    ['.file.file_data', '.file_data', file('data:application/pdf;base64,AAAA')],
    ['.file.file_id', '.file_id'],
    ['.function.arguments', '.arguments'],
    ['.function.parameters.type', '.parameters.type'],
    ['.id', '.call_id'],
    ['.tool_call_id', '.call_id', { role: 'tool' }],
    ['.content', '.output', { role: 'tool' }],
    ['.content', '.content', { role: 'user' }],
    ['.type', '.type'],
    ['.content[2].text', ''],
    ['.thinking_blocks[0]', '']
  ] as ReadonlyArray<[string, string, object?]>) {
    t.equal(responsesFieldName(path, of), name, path)
  }
})
