import t from 'tap'
import { dotted, messagesFieldName } from '../../../lib/dialects/messages/field-name.ts'

t.test('fields have the names of the Messages API', async t => {
  for (const [path, name] of [
    ['.image_url.url', '.source'],
    ['.file.file_data', '.source'],
    ['.function.arguments', '.input'],
    ['.function.name', '.name'],
    ['.function.parameters.type', '.input_schema.type'],
    ['.tool_call_id', '.tool_use_id'],
    ['.id', '.id'],
    ['.content', '.content'],
    ['.content[2].text', '']
  ] as const) {
    t.equal(messagesFieldName(path), name, path)
  }
  t.equal(dotted('messages[1].content[0].source'), 'messages.1.content.0.source')
})
