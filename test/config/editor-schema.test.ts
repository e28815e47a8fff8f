import { providerKinds } from '../../schemas/providers.ts'
import t from 'tap'
import { jsonSchema } from '../../lib/config/editor-schema.ts'
import type { Quirks } from '../../lib/core/provider-traits.ts'
import { Config } from '../../schemas/config.ts'

t.test('the editor schema requires only entries without a default', async t => {
  const schema = jsonSchema()
  t.equal(schema.$schema, 'http://json-schema.org/draft-07/schema#')
  t.equal(schema.required, undefined)
  t.match(JSON.stringify(schema), '"required":["name","key"]')
  t.ok(entryNames(schema).includes('idle_events_ms'))
  const undescribed: string[] = []
  const visit = (path: string, node: unknown): void => {
    if (typeof node !== 'object' || node === null) return
    for (const [key, value] of Object.entries(node)) {
      if (key === 'properties' && typeof value === 'object' && value !== null) {
        for (const [name, entry] of Object.entries<object>(value)) {
          if (!('description' in entry)) undescribed.push(`${path}.${name}`)
        }
      }
      visit(`${path}.${key}`, value)
    }
  }
  visit('', schema)
  t.same(undescribed, [], 'every entry is described')
})

t.test('the schema file knows every provider kind and quirk of the code', async t => {
  const quirks: Record<keyof Quirks, string> = {
    tokenLimitField: 'token_limit_field',
    omit: 'omit',
    streamUsage: 'stream_usage',
    multipleChoices: 'multiple_choices',
    lenientFinish: 'lenient_finish',
    reasoningEffort: 'reasoning_effort',
    extraFields: 'extra_fields',
    keepInHistory: 'keep_in_history',
    fileUrls: 'file_urls',
    obfuscation: 'obfuscation',
    customTools: 'custom_tools',
    legacyFunctions: 'legacy_functions',
    rename: 'rename',
    developerRole: 'developer_role',
    contentLists: 'content_lists',
    messageNames: 'message_names',
    refusals: 'refusals',
    jsonSchema: 'json_schema',
    toolCallIdLength: 'tool_call_id_length',
    maxToolCallIdLength: 'max_tool_call_id_length',
    userAfterTool: 'user_after_tool',
    unsignedThinking: 'unsigned_thinking',
    toolImages: 'tool_images',
    responsesApi: 'responses_api',
    base64Embeddings: 'base64_embeddings'
  }
  const entry = Config.properties.providers.patternProperties['^.*$']
  t.same(Object.keys(entry.properties.quirks.properties).toSorted(), Object.values(quirks).toSorted())
  t.same(entry.properties.kind.enum, providerKinds)
})

/** Returns the names of all entries anywhere in a schema. */
function entryNames (schema: unknown): string[] {
  if (typeof schema !== 'object' || schema === null) return []
  const names = 'properties' in schema ? Object.keys(schema.properties ?? {}) : []
  return names.concat(Object.values(schema).flatMap(entryNames))
}
