/**
 * Signs in with a one-time link. It needs a click: programs that scan messages open links, and would use it
 * up.
 */

import type { JSX } from 'preact'
import { api } from '../api/client.ts'
import { Button } from '../parts/button.tsx'
import { Failure } from '../parts/notice.tsx'
import { useAction } from '../state/action.ts'
import { begin } from '../state/session.ts'
import { Frame } from './frame.tsx'
import { forgetLink } from './link.ts'

export function FollowLink ({ token }: { readonly token: string }): JSX.Element {
  const { run, busy, error } = useAction()
  const follow = async (): Promise<void> => {
    const session = await api('POST /admin/v1/sign-in/link', { body: { token } })
    forgetLink()
    begin(session)
  }
  return (
    <Frame title='Welcome to Headgate' intro='This link signs you in once, on this browser.'>
      <Failure error={error} />
      {error === undefined
        ? <Button kind='primary' busy={busy} onClick={() => void run(follow)}>Continue</Button>
        : <Button onClick={forgetLink}>Other ways to sign in</Button>}
    </Frame>
  )
}
