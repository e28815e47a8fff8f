/** The playground: every kind of request, tried in the browser. */

import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import { Tabs, currentTab } from '../parts/tabs.tsx'
import { currentSession } from '../state/session.ts'
import { Chat } from './chat.tsx'
import { project } from './conversation.ts'

const tabs = [{ value: 'chat', label: 'Chat' }]

export function PlaygroundPage (): JSX.Element {
  useEffect(() => { document.title = 'Playground · Headgate' }, [])
  if (project.value === '') project.value = currentSession().projects[0]?.id ?? 'default'
  return (
    <div class='page full playground'>
      <div class='playground-head'><h1>Playground</h1><Tabs label='Kind of request' choices={tabs} /></div>
      {currentTab(tabs) === 'chat' && <Chat />}
    </div>
  )
}
