/**
 * What providers refuse and the gateway therefore avoids: checked with random requests, and listed in
 * `docs/providers.md`.
 */

import { isList, isObject, objectOf, objectsOf, type JsonObject } from '../../lib/json/type-guards.ts'
import type { ProviderKind } from '../../schemas/providers.ts'

export interface ProviderRule {
  /** Absent: all of the dialect. */
  readonly kinds: readonly ProviderKind[]
  /** A sentence about what is sent. */
  readonly rule: string
  readonly source: string
  readonly asOf: string
  /** Returns true for a body that breaks it. */
  readonly isBroken: (body: JsonObject, path: string) => boolean
}

const asOf = '2026-11-26'
const openai: readonly ProviderKind[] = ['openai', 'azure-openai']
const anthropicDocs = 'https://docs.claude.com/en/api/messages'
const openaiDocs = 'https://developers.openai.com/api/reference/resources/chat'
const geminiDocs = 'https://ai.google.dev/api/caching#FunctionDeclaration'

/** Efforts by model. */
const xaiEfforts: Readonly<Record<string, readonly string[]>> = {
  'grok-4.6': ['low', 'medium', 'high', 'xhigh'],
  'grok-4.5': ['low', 'medium', 'high'],
  'grok-4.3': ['none', 'low', 'medium', 'high'],
  'grok-4-0709': []
}
const openaiEfforts: Readonly<Record<string, readonly string[]>> = {
  'gpt-5-pro': ['high'],
  'gpt-5': ['minimal', 'low', 'medium', 'high'],
  'o4-mini': ['low', 'medium', 'high'],
  'gpt-5.1': ['none', 'low', 'medium', 'high'],
  'gpt-4.1': []
}
const mistralEfforts: Readonly<Record<string, readonly string[]>> = {
  'mistral-small-latest': ['none', 'high'],
  'mistral-medium-latest': ['none', 'high'],
  'mistral-large-latest': []
}

export const providerRules: readonly ProviderRule[] = [
  {
    kinds: ['anthropic'],
    rule: 'No text, and no system prompt, consists of white space only.',
    source: anthropicDocs,
    asOf,
    isBroken: body =>
      some(body['messages'], value => value['type'] === 'text' && isBlank(value['text'])) ||
      isBlank(body['system']) ||
      some(body['system'], value => isBlank(value['text'])) ||
      objectsOf(body['messages']).some(({ content }) => isBlank(content))
  },
  {
    kinds: ['anthropic'],
    rule: 'There is at least one message, and user and assistant messages alternate.',
    source: anthropicDocs,
    asOf,
    isBroken: ({ messages }) =>
      objectsOf(messages).length === 0 ||
      objectsOf(messages).some(({ role }, index, all) => role === all[index - 1]?.['role'])
  },
  {
    kinds: ['anthropic'],
    rule: 'Each tool call has a unique id of letters, digits, `_` and `-`, and its result in the next message.',
    source: anthropicDocs,
    asOf,
    isBroken: ({ messages }) => {
      const all = objectsOf(messages)
      const blocks = (message: JsonObject | undefined, type: string): readonly JsonObject[] =>
        objectsOf(message?.['content']).filter(block => block['type'] === type)
      const calls = all.flatMap((message, index) =>
        blocks(message, 'tool_use').map(({ id }) => ({ id, results: blocks(all[index + 1], 'tool_result') }))
      )
      return (
        new Set(calls.map(({ id }) => id)).size < calls.length ||
        calls.some(
          ({ id, results }) =>
            !/^[\w-]+$/.test(String(id)) || !results.some(result => result['tool_use_id'] === id)
        )
      )
    }
  },
  {
    kinds: ['anthropic'],
    rule: 'No assistant message ends with thinking.',
    source: 'https://github.com/tailcallhq/forgecode/issues/2107',
    asOf: '2026-11-29',
    isBroken: ({ messages }) =>
      objectsOf(messages).some(({ role, content }) =>
        role === 'assistant' && String(objectsOf(content).at(-1)?.['type']).endsWith('thinking')
      )
  },
  {
    kinds: ['anthropic'],
    rule: 'The root of a tool schema is an object without `anyOf`, `oneOf` and `allOf`.',
    source: anthropicDocs,
    asOf,
    isBroken: ({ tools }) => objectsOf(tools).some(tool => !isPlainRoot(tool['input_schema']))
  },
  {
    kinds: ['anthropic'],
    rule: 'Argument names of a tool have at most 64 letters, digits, `_`, `.` and `-`.',
    source: 'https://github.com/anthropics/claude-code/issues/79418',
    asOf,
    isBroken: ({ tools }) =>
      objectsOf(tools).some(tool =>
        Object.keys(Object(objectOf(tool['input_schema'])?.['properties'])).some(
          name => !/^[a-zA-Z0-9_.-]{1,64}$/.test(name)
        )
      )
  },
  {
    kinds: ['anthropic'],
    rule: '`temperature` and `top_p` are not combined, and not sent with thinking, except `top_p` of at least 0.95.',
    source: 'https://docs.claude.com/en/docs/build-with-claude/extended-thinking',
    asOf,
    isBroken: ({ temperature, top_p: topP, thinking }) =>
      (temperature !== undefined && topP !== undefined) ||
      (['enabled', 'adaptive'].includes(String(objectOf(thinking)?.['type'])) &&
        (temperature !== undefined || Number(topP ?? 1) < 0.95))
  },
  {
    kinds: ['anthropic'],
    rule: 'A thinking budget is at least 1,024 and below `max_tokens`, and only sent to models that accept one.',
    source: 'https://docs.claude.com/en/docs/build-with-claude/extended-thinking',
    asOf,
    isBroken: ({ thinking, max_tokens: limit, model }) => {
      const budget = objectOf(thinking)?.['budget_tokens']
      return (
        budget !== undefined &&
        (Number(budget) < 1024 ||
          Number(budget) >= Number(limit) ||
          /opus-4-[78]|opus-5|sonnet-5|fable-5/.test(String(model)))
      )
    }
  },
  {
    kinds: ['anthropic'],
    rule: 'Thinking is not turned off for Opus 5.5, Sonnet 5.5, Fable and Mythos.',
    source: 'https://platform.claude.com/docs/en/models/fable-5/migration-guide',
    asOf: '2026-11-29',
    isBroken: ({ thinking, model }) =>
      objectOf(thinking)?.['type'] === 'disabled' && /(?:opus|sonnet)-5-5|fable|mythos/.test(String(model))
  },
  {
    kinds: openai,
    rule: 'Parameters of a function are an object with `properties` and no union at the root; arrays have `items`.',
    source: openaiDocs,
    asOf,
    isBroken: ({ tools }) =>
      objectsOf(tools)
        .map(tool => objectOf(tool['function']) ?? tool)
        .some(
          ({ parameters }) =>
            parameters !== undefined &&
            (!isPlainRoot(parameters) ||
              !isObject(objectOf(parameters)?.['properties']) ||
              hasOpenArray(parameters))
        )
  },
  {
    kinds: openai,
    rule: 'Function tools for models that think are sent to `POST /responses`, unless the effort is `none`.',
    source: 'https://github.com/BerriAI/litellm/issues/34569',
    asOf,
    isBroken: ({ model, tools, reasoning_effort: effort }, path) =>
      path.endsWith('/chat/completions') &&
      isList(tools) &&
      effort !== 'none' &&
      (/^gpt-(?:5\.6|6)/.test(String(model)) || (/^gpt-5\.[45]/.test(String(model)) && effort !== undefined))
  },
  {
    kinds: openai,
    rule: 'Models that think get no penalties, and no temperature while thinking.',
    source: 'https://developers.openai.com/api/docs/guides/reasoning',
    asOf,
    isBroken: body =>
      /^(?:gpt-[56](?!.*chat)|o\d)/.test(String(body['model'])) &&
      ['presence_penalty', 'frequency_penalty'].some(name => body[name] !== undefined)
  },
  {
    kinds: openai,
    rule:
      'Models that think get no `stop`: callers of the Messages API get an answer without it, others a refusal.',
    source: 'https://github.com/huggingface/smolagents/issues/1893',
    asOf: '2026-11-29',
    isBroken: ({ model, stop }) =>
      /^(?:gpt-[56](?!.*chat)|o\d)/.test(String(model)) && stop !== undefined
  },
  {
    kinds: openai,
    rule: 'Tool-call ids have at most 40 characters.',
    source: openaiDocs,
    asOf,
    isBroken: ({ messages }) =>
      objectsOf(messages).some(message =>
        [message['tool_call_id'], ...objectsOf(message['tool_calls']).map(({ id }) => id)].some(
          id => typeof id === 'string' && id.length > 40
        )
      )
  },
  {
    kinds: openai,
    rule: 'The token limit at `POST /responses` is at least 16.',
    source: 'https://developers.openai.com/api/reference/resources/responses',
    asOf,
    isBroken: ({ max_output_tokens: limit }) => limit !== undefined && Number(limit) < 16
  },
  {
    kinds: openai,
    rule: 'A reasoning item at `POST /responses` is followed by the rest of its answer.',
    source: 'https://github.com/openai/openai-agents-js/pull/973',
    asOf: '2026-11-29',
    isBroken: ({ input }) =>
      objectsOf(input).some(({ type }, index, all) => {
        const next = all[index + 1]
        return type === 'reasoning' && (next === undefined || next['role'] === 'user')
      })
  },
  {
    kinds: ['mistral'],
    rule: 'No user message directly follows a tool message; tool-call ids are nine letters and digits.',
    source: 'https://docs.mistral.ai/capabilities/function_calling',
    asOf,
    isBroken: ({ messages }) =>
      objectsOf(messages).some(
        (message, index, all) =>
          (message['role'] === 'user' && all[index - 1]?.['role'] === 'tool') ||
          objectsOf(message['tool_calls']).some(({ id }) => !/^[A-Za-z0-9]{9}$/.test(String(id)))
      )
  },
  {
    kinds: ['mistral'],
    rule: 'Messages have no `name`, and no `refusal`.',
    source: 'https://github.com/microsoft/autogen/issues/2748',
    asOf: '2026-11-29',
    isBroken: ({ messages }) =>
      some(messages, value => value['role'] !== undefined && value['name'] !== undefined) ||
      some(messages, value => value['refusal'] !== undefined)
  },
  {
    kinds: ['xai'],
    rule: 'Only user messages have a `name`.',
    source: 'https://github.com/BerriAI/litellm/issues/9720',
    asOf: '2026-11-29',
    isBroken: ({ messages }) =>
      objectsOf(messages).some(({ role, name }) => name !== undefined && role !== 'user')
  },
  {
    kinds: ['mistral'],
    rule: 'The effort is `none` or `high`, for models that reason; other models get none.',
    source: 'https://github.com/withceleste/celeste-python/pull/311',
    asOf: '2026-11-29',
    isBroken: ({ model, reasoning_effort: effort }) => isUnknownEffort(mistralEfforts, model, effort)
  },
  {
    kinds: ['mistral'],
    rule: 'A file is a `document_url`: its content as a `data:` URL, or its address.',
    source: 'https://github.com/danny-avila/LibreChat/pull/12144',
    asOf: '2026-11-29',
    isBroken: ({ messages }) =>
      some(messages, value => value['type'] === 'file' && value['file'] !== undefined)
  },
  {
    kinds: ['ollama'],
    rule: 'The effort is `none`, `low`, `medium`, `high` or `max`.',
    source: 'https://github.com/ollama/ollama/pull/17141',
    asOf: '2026-11-29',
    isBroken: ({ reasoning_effort: effort }) => effort === 'minimal' || effort === 'xhigh'
  },
  {
    kinds: ['deepseek'],
    rule: 'The content of a message is a text, not a list of texts.',
    source: 'https://github.com/QwenLM/qwen-code/pull/2320',
    asOf: '2026-11-29',
    isBroken: ({ messages }) =>
      objectsOf(messages).some(
        ({ content }) => Array.isArray(content) && objectsOf(content).every(({ type }) => type === 'text')
      )
  },
  {
    kinds: ['deepseek'],
    rule: '`response_format` is `text` or `json_object`.',
    source: 'https://api-docs.deepseek.com/guides/json_mode',
    asOf: '2026-11-29',
    isBroken: ({ response_format: format }) => objectOf(format)?.['type'] === 'json_schema'
  },
  {
    kinds: ['vllm', 'sglang', 'llama.cpp', 'ollama', 'lm-studio', 'openai-compatible'],
    rule: 'There is at most one system message, and it comes first.',
    source: 'chat templates of open models',
    asOf,
    isBroken: ({ messages }) => objectsOf(messages).some(({ role }, index) => role === 'system' && index > 0)
  },
  {
    kinds: ['google'],
    rule: 'References point to `$defs`; enumerations have no empty text and no null; `required` names existing properties.',
    source: geminiDocs,
    asOf,
    isBroken: ({ tools, generationConfig }) =>
      objectsOf(tools)
        .flatMap(tool => objectsOf(tool['functionDeclarations']))
        .map(({ parametersJsonSchema }) => parametersJsonSchema)
        .concat(objectOf(generationConfig)?.['responseJsonSchema'])
        .some(schema =>
          some(
            schema,
            value =>
              (typeof value['$ref'] === 'string' &&
                objectOf(objectOf(schema)?.['$defs'])?.[value['$ref'].slice('#/$defs/'.length)] ===
                  undefined) ||
              (isList(value['enum']) && value['enum'].some(member => member === '' || member === null)) ||
              (isList(value['required']) &&
                isObject(value['properties']) &&
                value['required'].some(name => !Object.hasOwn(Object(value['properties']), String(name))))
          )
        )
  },
  {
    kinds: ['xai'],
    rule: 'Models that reason get no penalties and no `logit_bias`; a request with `stop` is refused.',
    source: 'https://docs.x.ai/developers/model-capabilities/text/reasoning',
    asOf,
    isBroken: body =>
      String(body['model']).startsWith('grok-4') &&
      ['presence_penalty', 'frequency_penalty', 'logit_bias', 'stop'].some(name => body[name] !== undefined)
  },
  {
    kinds: ['xai'],
    rule: 'The effort is one that the model accepts; models that decide by themselves get none.',
    source: 'https://docs.x.ai/developers/model-capabilities/text/reasoning',
    asOf,
    isBroken: ({ model, reasoning_effort: effort }) => isUnknownEffort(xaiEfforts, model, effort)
  },
  {
    kinds: openai,
    rule: 'The effort is one that the model accepts.',
    source: 'https://learn.microsoft.com/en-us/javascript/api/@azure/ai-projects/reasoningeffort',
    asOf,
    isBroken: ({ model, reasoning_effort: effort, reasoning }) =>
      isUnknownEffort(openaiEfforts, model, effort ?? objectOf(reasoning)?.['effort'])
  },
  {
    kinds: ['google'],
    rule: 'The thinking level is one that the model accepts: low and high for Gemini 3 Pro.',
    source: 'https://ai.google.dev/gemini-api/docs/thinking#thinking-levels',
    asOf,
    isBroken: ({ model, generationConfig }) => {
      const level = objectOf(objectOf(generationConfig)?.['thinkingConfig'])?.['thinkingLevel']
      return (
        String(model).startsWith('gemini-3-pro') &&
        level !== undefined &&
        level !== 'LOW' &&
        level !== 'HIGH'
      )
    }
  },
  {
    kinds: ['google'],
    rule:
      'The thinking budget is one that the model accepts: 128 to 32,768 for Gemini 2.5 Pro, 0 to 24,576 for Flash, ' +
      '0 or 512 to 24,576 for Flash-Lite, none for others.',
    source: 'https://ai.google.dev/gemini-api/docs/thinking#set-budget',
    asOf: '2026-11-27',
    isBroken: ({ model, generationConfig }) => {
      const budget = objectOf(objectOf(generationConfig)?.['thinkingConfig'])?.['thinkingBudget']
      return budget !== undefined && !isGeminiBudget(String(model), Number(budget))
    }
  },
  {
    kinds: ['xai', 'mistral', 'groq', 'vllm', 'openai-compatible'],
    rule: 'If a request allows only some tools, only these are offered.',
    source: 'https://docs.x.ai/developers/rest-api-reference/inference/chat',
    asOf,
    isBroken: ({ tool_choice: choice }) => objectOf(choice)?.['type'] === 'allowed_tools'
  },
  {
    kinds: ['groq'],
    rule: 'Qwen accepts the efforts `none` and `default`, GPT-OSS `low`, `medium` and `high`.',
    source: 'https://console.groq.com/docs/reasoning',
    asOf,
    isBroken: ({ model, reasoning_effort: effort }) =>
      effort !== undefined &&
      !(/qwen/.test(String(model)) ? ['none', 'default'] : ['low', 'medium', 'high']).includes(
        effort as string
      )
  }
]

function isGeminiBudget (model: string, budget: number): boolean {
  switch (model) {
    case 'gemini-2.5-pro': return budget >= 128 && budget <= 32_768
    case 'gemini-2.5-flash': return budget >= 0 && budget <= 24_576
    case 'gemini-2.5-flash-lite': return budget === 0 || (budget >= 512 && budget <= 24_576)
    default: return false
  }
}

function isUnknownEffort (
  known: Readonly<Record<string, readonly string[]>>,
  model: unknown,
  effort: unknown
): boolean {
  return effort !== undefined && known[String(model)]?.some(name => name === effort) === false
}

function isBlank (value: unknown): boolean {
  return typeof value === 'string' && value.trim() === ''
}

function isPlainRoot (schema: unknown): boolean {
  return (
    isObject(schema) &&
    schema['type'] === 'object' &&
    ['anyOf', 'oneOf', 'allOf'].every(keyword => schema[keyword] === undefined)
  )
}

function hasOpenArray (schema: unknown): boolean {
  return some(
    schema,
    value =>
      [value['type']].flat().includes('array') &&
      value['items'] === undefined &&
      value['prefixItems'] === undefined
  )
}

/** Returns true if an object at any depth matches. */
function some (value: unknown, is: (value: JsonObject) => boolean): boolean {
  if (isList(value)) return value.some(item => some(item, is))
  return isObject(value) && (is(value) || Object.values(value).some(item => some(item, is)))
}
