/**
 * The page on which a person chooses the file for an upload.
 *
 * @module
 */
import { formatBytes } from "../../files/format-bytes.ts";
import { describeAccepted, extensionsOf } from "../../files/media-types.ts";
import { type Brand, imageSource } from "../../look/brand.ts";
import { type Hashed, respond } from "../../look/document.ts";
import { html } from "../../look/html.ts";
import { BASE } from "../../look/style.ts";
import type { UploadRules } from "./links.ts";

/** What a page shows. */
export interface FilePage {
  readonly brand: Brand;
  /** The name of the server. */
  readonly server: string;
  readonly link: UploadRules;
  readonly bytesMax: number;
  /** The sealed text of the link. The script sends the file to the page's own URL up to it, because a proxy may change the path. */
  readonly sealed: string;
  /** Whether the link can be used. */
  readonly state: "open" | "used" | "ended";
}

const STYLE: Hashed = {
  text:
    `${BASE}:root{background:light-dark(var(--side),var(--back))}` +
    "main{max-width:34rem;margin:min(12vh,6rem) auto;padding:2rem;background:light-dark(var(--back),var(--side));border:1px solid var(--line);border-radius:1rem}" +
    "h1{font-size:1.375rem;margin:0 0 1rem}img{display:block;max-height:3rem;max-width:100%;margin-bottom:1.5rem}.soft{color:var(--soft);font-size:.875rem}" +
    "label{position:relative;display:grid;place-content:center;justify-items:center;gap:.75rem;min-height:11rem;padding:1rem;text-align:center;border:2px dashed var(--edge);border-radius:1rem;cursor:pointer}" +
    "label.over{border-color:var(--accent)}label:focus-within{outline:2px solid var(--accent);outline-offset:2px}label.busy{opacity:.6;cursor:default}" +
    "input{position:absolute;inset:0;width:100%;height:100%;opacity:0;cursor:inherit}input::file-selector-button{cursor:inherit}" +
    "progress{width:100%;margin-top:1rem;accent-color:var(--accent)}[role=status]{display:flex;gap:.5rem;min-height:1.5em;margin-bottom:0}" +
    ".good{color:light-dark(#146c2e,#7fd795)}.bad{color:light-dark(#b3261e,#ffb0a6)}.good:before{content:'\\2713'/''}.bad:before{content:'\\26a0\\fe0e'/''}" +
    "[hidden]{display:none!important}@media(pointer:coarse){.drop{display:none}}" +
    "@media(max-width:36rem){main{margin:0;border:0;border-radius:0;min-height:100vh;padding:1.5rem}}",
  hash: "ueBAkGBCbHpsfMG9sJ3fAL4RHLeA4wvxvTJjy4ri4TM=",
};

/** Sends the file with PUT, as curl does, so that the Worker need not hold it in memory. */
const SCRIPT: Hashed = {
  text:
    'const q=n=>document.querySelector(n),l=q("label"),i=q("input"),s=q("[role=status]"),p=q("progress"),{max,large,sealed}=i.dataset,say=(t,c)=>{s.textContent=t;s.className=c??""};' +
    'function send(f){if(!f)return;if(f.size>+max){i.value="";say(large,"bad");return}const x=new XMLHttpRequest;x.open("PUT",location.pathname.split(sealed)[0]+sealed+"/"+encodeURIComponent(f.name));' +
    'if(f.type)x.setRequestHeader("Content-Type",f.type);i.disabled=true;l.classList.add("busy");p.hidden=false;p.value=0;say("Sending "+f.name);x.upload.onprogress=e=>{p.value=e.loaded/e.total};' +
    'const e=t=>{i.disabled=false;i.value="";l.classList.remove("busy");p.hidden=true;say(t,"bad")};x.onload=()=>{if(x.status===201){for(const n of document.querySelectorAll(".ask"))n.hidden=true;say("The file has arrived. Return to the assistant, and say that the file is there if it does not go on by itself.","good")}else e(x.responseText)};' +
    'x.onerror=()=>e("The connection was lost. Choose the file again.");x.send(f)}' +
    'i.onchange=()=>send(i.files[0]);for(const n of["dragover","dragleave","drop"])l.addEventListener(n,e=>{e.preventDefault();l.classList.toggle("over",n==="dragover"&&!i.disabled);if(n==="drop"&&!i.disabled)send(e.dataTransfer.files[0])})',
  hash: "AGkgTv3nnfULA0h7G6pIHWxQTwkRTboi+1rSDhqhAp4=",
};

const ENDED = {
  used: "This link has been used. If you did not use it, tell the assistant that asked for the file.",
  ended: "This link has ended. Ask the assistant for a new one.",
} as const;

/** Creates the page. */
export function showPage({ brand, server, link, bytesMax, sealed, state }: FilePage): Response {
  const { name = server, logo, accent } = brand;
  const { types = [], description } = link;
  const image = logo && html`<img src="${logo}" alt="">`;
  const size = `at most ${formatBytes(bytesMax)}`;
  const accepted = describeAccepted(types, bytesMax);
  // Some systems do not know the type of a file, but its extension.
  const accept = types.flatMap((type) => [type, ...extensionsOf(type).map((extension) => `.${extension}`)]).join(",");
  const input = html`<input type="file" accept="${accept}" data-max="${String(bytesMax)}" data-large="The file is too large: ${size}." data-sealed="${sealed}">`;
  const form = html`<div class="ask"><p>An assistant that you use has asked for this file. It is sent to <bdi>${name}</bdi> and to nobody else. If you did not expect this, close the page.</p>${description && html`<p><bdi>${description}</bdi></p>`}<label><span class="drop">Drop a file here, or</span><span class="button main">Choose a file</span>${input}</label><p class="soft">${accepted.charAt(0).toUpperCase() + accepted.slice(1)}</p></div><progress class="ask" max="1" value="0" aria-label="Sent" hidden></progress><noscript><p>This page needs scripts. You can also run: curl -T FILE followed by the address of this page.</p></noscript>`;
  const body = html`<main>${image}<h1>Send a file to <bdi>${name}</bdi></h1>${state === "open" ? form : html`<p>${ENDED[state]}</p>`}<p role="status"></p></main>`;
  const response = respond({
    status: state === "open" ? 200 : 410,
    language: "en",
    title: html`Send a file to ${name}`,
    body,
    style: STYLE,
    script: state === "open" ? SCRIPT : undefined,
    brand: { ...(accent && { accent }) },
    imageSource: logo && imageSource(logo),
    headers: { "Referrer-Policy": "no-referrer" },
  });
  const policy = response.headers.get("Content-Security-Policy") ?? "default-src 'none'";
  if (state === "open") response.headers.set("Content-Security-Policy", `${policy}; connect-src 'self'`);
  return response;
}
