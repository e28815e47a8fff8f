/** One tool server; its tools are listed on request. */

import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { api, type Answer } from '../api/client.ts'
import { duration, plural } from '../format/numbers.ts'
import { Badge } from '../parts/badge.tsx'
import { Button } from '../parts/button.tsx'
import { Card } from '../parts/card.tsx'
import { Fold } from '../parts/fold.tsx'
import { Failure, Notice } from '../parts/notice.tsx'
import { at } from '../state/router.ts'
import { useAction } from '../state/action.ts'

type Server = Answer<'GET /admin/v1/tool-servers'>['data'][number]
type Tools = Answer<'GET /admin/v1/tool-servers/:org/:name'>

export function ToolServer ({
  server: { slug, transport, target }
}: {
  readonly server: Server
}): JSX.Element {
  const found = useSignal<Tools | undefined>(undefined)
  const { run, busy, error } = useAction()
  const connect = (): void => {
    void run(async () => {
      const [org = '', name = ''] = slug.split('/')
      found.value = await api('GET /admin/v1/tool-servers/:org/:name', { at: { org, name } })
    })
  }
  const tools = found.value
  return (
    <Card
      title={slug}
      subtitle={<span class='break'>{transport === 'http' ? target : `command: ${target}`}</span>}
      actions={
        <>
          {tools !== undefined && (
            <Badge tone={tools.connected ? 'good' : 'bad'}>
              {tools.connected
                ? `${plural(tools.tools.length, 'tool')} in ${duration(tools.duration_ms)}`
                : 'not connected'}
            </Badge>
          )}
          <Button small icon={tools === undefined ? 'tools' : 'refresh'} busy={busy} onClick={connect}>
            {tools === undefined ? 'List tools' : 'Connect again'}
          </Button>
          <Button small icon='play' href={at(`/playground?tools=${encodeURIComponent(slug)}`)}>
            Try
          </Button>
        </>
      }
    >
      <div class='stack tight'>
        <Failure error={error} />
        {tools?.error !== null && tools?.error !== undefined && <Notice tone='bad'>{tools.error}</Notice>}
        {tools?.tools.map(tool => (
          <Fold
            key={tool.name}
            title={<code>{tool.name}</code>}
            note={<span class='clip-note'>{tool.description}</span>}
          >
            <p class='small muted pre'>{tool.description}</p>
            <Parameters schema={tool.input_schema} />
          </Fold>
        ))}
      </div>
    </Card>
  )
}

/**
 * The parts of a tool's schema that describe its arguments. Servers may send anything: unexpected parts are
 * ignored.
 */
interface ToolSchema {
  readonly properties?: Readonly<Record<string, { readonly type?: unknown, readonly description?: unknown }>>
  readonly required?: readonly string[]
}

function Parameters ({ schema }: { readonly schema: ToolSchema }): JSX.Element {
  const { properties = {}, required = [] } = schema
  const names = Object.keys(properties)
  if (names.length === 0) return <p class='small faint'>It takes no arguments.</p>
  return (
    <dl class='facts'>
      {names.map(name => [
        <dt key={name}>
          <code>{name}</code>
          {required.includes(name) && (
            <span class='bad' title='Required'>
              {' '}
              *
            </span>
          )}
        </dt>,
        <dd key={`${name}=`}>
          <span class='faint'>{text(properties[name]?.type)}</span> {text(properties[name]?.description)}
        </dd>
      ])}
    </dl>
  )
}

function text (value: unknown): string {
  return typeof value === 'string' ? value : ''
}
