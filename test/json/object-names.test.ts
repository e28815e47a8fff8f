import t from 'tap'
import { isObjectName } from '../../lib/json/object-names.ts'

t.test('ids of objects stored in an account differ from ids within the request', async t => {
  for (const name of ['file_id', 'file_ids', 'vector_store_ids', 'skill_id', 'new_kind_of_object_id']) {
    t.ok(isObjectName(name), name)
  }
  for (const name of ['id', 'call_id', 'tool_use_id', 'tool_id', 'previous_response_id', 'grid', 'ids']) {
    t.notOk(isObjectName(name), name)
  }
})
