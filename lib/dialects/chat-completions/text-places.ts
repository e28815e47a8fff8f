/**
 * Where requests of this dialect hold text. In answers, guards read the text from events
 * (`guards/event-texts`); only placeholders are restored after printing.
 */

import { modelTexts } from '../../chat/model-texts.ts'
import { objectOf } from '../../json/type-guards.ts'
import {
  PlaceTable,
  address,
  anyWord,
  fixed,
  jsonSchema,
  kindWords,
  media,
  pieceOf,
  text,
  toolArguments,
  toolCall,
  toolResult,
  unseen,
  type Places,
  type TextPlace
} from '../../json/place-table.ts'
import type { DirectTexts } from '../dialect.ts'

const id = unseen('pairs a call with its result')
const name = unseen('the name of a tool, by which its calls are found')
const word = unseen('one of a few words')
const secret = unseen('a secret of the tool server')
const idle = unseen('has no effect')

/** The parts of a message. */
function parts (path: string, said: TextPlace): Places {
  return {
    [path]: said,
    [`${path}[].text`]: said,
    [`${path}[].refusal`]: said,
    [`${path}[](image_url).image_url.url`]: address,
    [`${path}[](image_url).image_url.detail`]: word,
    [`${path}[](input_audio).input_audio.data`]: media,
    [`${path}[](input_audio).input_audio.format`]: word,
    [`${path}[](file).file.file_data`]: media,
    [`${path}[](file).file.file_id`]: unseen('the id of a file at the provider'),
    [`${path}[](file).file.filename`]: said
  }
}

function messages (path: string): Places {
  return {
    [path]: text,
    ...parts(`${path}[].content`, text),
    ...parts(`${path}[](tool|function).content`, toolResult),
    [`${path}[].refusal`]: text,
    [`${path}[].reasoning_content`]: text,
    [`${path}[].reasoning`]: text,
    [`${path}[].thinking_blocks[].thinking`]: fixed,
    [`${path}[].thinking_blocks[].**`]: fixed,
    [`${path}[].thinking_blocks[].data`]: unseen('only the provider can read it'),
    [`${path}[].name`]: text,
    [`${path}[](function).name`]: name,
    [`${path}[].tool_call_id`]: id,
    [`${path}[].audio.id`]: unseen('the id of a recording at the provider'),
    [`${path}[].tool_calls[].id`]: id,
    [`${path}[].tool_calls[].function.name`]: name,
    [`${path}[].tool_calls[].function.arguments`]: toolArguments,
    [`${path}[].tool_calls[].custom.name`]: name,
    [`${path}[].tool_calls[].custom.input`]: toolCall,
    [`${path}[].tool_calls[].extra_content.**`]: unseen('belongs to the call, such as a signature'),
    [`${path}[].function_call.name`]: name,
    [`${path}[].function_call.arguments`]: toolArguments
  }
}

function functions (path: string): Places {
  return { [`${path}.name`]: name, [`${path}.description`]: text, [`${path}.parameters.**`]: jsonSchema }
}

/** One tool server, or each in a list. */
function toolServer (path: string): Places {
  return {
    [path]: fixed,
    [`${path}.**`]: fixed,
    [`${path}.headers.**`]: secret,
    [`${path}.authorization`]: secret,
    [`${path}.credentials.**`]: secret,
    [`${path}.metadata.**`]: idle
  }
}

export const chatRequestTexts = new PlaceTable({
  ...kindWords,
  '**.cache_control.**': unseen('marks the end of what is cached'),
  '**.signature': unseen('belongs to the thinking that it signs'),
  ...modelTexts,
  ...messages('messages'),
  ...messages('input'),
  'instructions.**': text,
  'system.**': text,
  'system_instruction.**': text,
  stop: text,
  'stop[]': text,
  'stop_sequences[]': text,
  'prediction.content': text,
  'prediction.content[].text': text,
  'response_format.json_schema.name': unseen('a name that answers do not repeat'),
  'response_format.json_schema.description': text,
  'response_format.json_schema.schema.**': jsonSchema,
  'modalities[]': anyWord,
  'audio.voice.**': unseen('names a voice'),
  ...functions('tools[].function'),
  'tools[].custom.name': name,
  'tools[].custom.description': text,
  'tools[].custom.format.grammar.definition': text,
  'tool_choice.**': name,
  ...functions('functions[]'),
  'function_call.**': name,
  ...toolServer('mcp_servers'),
  ...toolServer('mcp_servers[]'),
  'credentials.**': secret,
  'generation_config.**': text,
  'generation_config.response_schema.**': jsonSchema,
  'generation_config.responseSchema.**': jsonSchema,
  'generation_config.response_json_schema.**': jsonSchema,
  'generation_config.responseJsonSchema.**': jsonSchema,
  'safety_settings.**': anyWord,
  'tool_config.**': anyWord,
  cached_content: unseen('the id of content at the provider'),
  cachedContent: unseen('the id of content at the provider'),
  'web_search_options.**': text,
  'search_parameters.**': text,
  'prompt_mode.**': anyWord,
  'metadata.*': text,
  user: text,
  safety_identifier: text,
  prompt_cache_key: text,
  prompt_cache_retention: anyWord,
  'cache.**': unseen('compared here, and not sent'),
  'fallbacks.**': unseen('names of models'),
  'tags.**': text,
  'handoff_config.**': idle
})

/** Anywhere in an answer. */
const printed: Places = {
  '**.thinking_blocks.**': fixed,
  '**.signature': unseen('belongs to the thinking that it signs'),
  '**': text
}

/** Fields of a complete message or of a delta. */
function said (path: string, place: (whole: TextPlace) => TextPlace): Places {
  return {
    [`${path}.content`]: place(text),
    [`${path}.refusal`]: place(text),
    [`${path}.reasoning_content`]: place(text),
    [`${path}.tool_calls[].function.arguments`]: place(toolArguments),
    [`${path}.tool_calls[].custom.input`]: place(toolCall),
    [`${path}.function_call.arguments`]: place(toolArguments)
  }
}

/** A text belongs to a field of a choice, or to one of its calls; all end with the choice. */
const chunkTextOf: DirectTexts['textOf'] = (_, { choices }) => {
  const { index, delta, finish_reason: finish } = objectOf(Array.isArray(choices) ? choices[0] : {}) ?? {}
  const choice = `${String(index)};`
  if (typeof finish === 'string') return { key: '', ends: choice }
  const { tool_calls: calls, ...fields } = objectOf(delta) ?? {}
  const call = objectOf(Array.isArray(calls) ? calls[0] : undefined)?.['index']
  const field = Object.keys(fields).find(name => name !== 'role')
  return { key: choice + (call === undefined ? String(field) : `call ${JSON.stringify(call)}`) }
}

export const chatPrintedTexts: DirectTexts = {
  answer: new PlaceTable({ ...printed, ...said('choices[].message', place => place) }),
  frames: new PlaceTable({ ...printed, ...said('choices[].delta', pieceOf) }),
  textOf: chunkTextOf
}
