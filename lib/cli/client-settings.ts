/**
 * Writes the settings with which other programs use this gateway. None contains a key: all read it from the
 * environment.
 */

import { homedir } from 'node:os'
import { join } from 'node:path'
import { keyVariable } from '../config/environment.ts'
import { isObject, objectOf, type JsonObject } from '../json/type-guards.ts'

export interface Gateway {
  /** Without `/v1` and without a trailing slash. */
  readonly url: string
  readonly model: string
  /** For titles and other small tasks. */
  readonly smallModel: string
}

export interface ClientSettings {
  /** The file that the program reads. */
  readonly file: string
  /** Returns the settings as the content of an otherwise empty file. */
  readonly print: (gateway: Gateway) => string
  /**
   * Returns the content of a file with these settings added; `undefined` if they contradict existing settings
   * or the file cannot be parsed.
   */
  readonly merge: (content: string, gateway: Gateway) => string | undefined
}

type Environment = Readonly<Record<string, string | undefined>>

/** Returns the settings of a program by its name. */
export function clientSettings (env: Environment): ReadonlyMap<string, ClientSettings> {
  const home = env['HOME'] ?? homedir()
  return new Map([
    [
      'claude-code',
      json(join(env['CLAUDE_CONFIG_DIR'] ?? join(home, '.claude'), 'settings.json'), claudeCode)
    ],
    [
      'codex',
      {
        file: join(env['CODEX_HOME'] ?? join(home, '.codex'), 'config.toml'),
        print: codex,
        merge: mergeCodex
      }
    ],
    [
      'opencode',
      json(join(env['XDG_CONFIG_HOME'] ?? join(home, '.config'), 'opencode', 'opencode.json'), opencode)
    ]
  ])
}

function json (file: string, values: (gateway: Gateway) => JsonObject): ClientSettings {
  return {
    file,
    print: gateway => prettyJson(values(gateway)),
    merge: (content, gateway) => {
      const existing = parsed(content)
      return existing && prettyJson(merged(existing, values(gateway)))
    }
  }
}

function claudeCode ({ url, model, smallModel }: Gateway): JsonObject {
  return {
    apiKeyHelper: `printenv ${keyVariable}`,
    env: { ANTHROPIC_BASE_URL: url, ANTHROPIC_MODEL: model, ANTHROPIC_DEFAULT_HAIKU_MODEL: smallModel }
  }
}

function opencode ({ url, model, smallModel }: Gateway): JsonObject {
  return {
    $schema: 'https://opencode.ai/config.json',
    provider: {
      headgate: {
        npm: '@ai-sdk/openai-compatible',
        name: 'Headgate',
        options: { baseURL: `${url}/v1`, apiKey: `{env:${keyVariable}}` },
        models: { [model]: {}, [smallModel]: {} }
      }
    },
    model: `headgate/${model}`,
    small_model: `headgate/${smallModel}`
  }
}

function codex (gateway: Gateway): string {
  return `${codexDefaults(gateway)}\n${codexProvider(gateway)}`
}

/** In TOML a key belongs to the table before it, so these come first. */
function codexDefaults ({ model }: Gateway): string {
  return `model = ${JSON.stringify(model)}\nmodel_provider = "headgate"\n`
}

function codexProvider ({ url }: Gateway): string {
  return `[model_providers.headgate]\nname = "Headgate"\nbase_url = ${JSON.stringify(`${url}/v1`)}\nenv_key = "${keyVariable}"\nwire_api = "responses"\n`
}

function mergeCodex (content: string, gateway: Gateway): string | undefined {
  const lines = content.split('\n').map(line => line.trimStart())
  const firstTable = lines.findIndex(line => line.startsWith('['))
  const defaults = firstTable === -1 ? lines : lines.slice(0, firstTable)
  const isSet =
    lines.some(line => line.startsWith('[model_providers.headgate]')) ||
    defaults.some(line => /^(?:model|model_provider) {0,20}=/.test(line))
  return isSet ? undefined : `${codexDefaults(gateway)}${content.trimEnd()}\n\n${codexProvider(gateway)}`
}

function prettyJson (value: JsonObject): string {
  return `${JSON.stringify(value, null, 2)}\n`
}

function parsed (content: string): JsonObject | undefined {
  if (content.trim() === '') return {}
  try {
    return objectOf(JSON.parse(content))
  } catch {
    return undefined // with comments, or cut
  }
}

function merged (existing: JsonObject, values: JsonObject): JsonObject {
  const result = { ...existing }
  for (const [name, value] of Object.entries(values)) {
    const current = result[name]
    result[name] = isObject(current) && isObject(value) ? merged(current, value) : value
  }
  return result
}
