//! Agents: presets wherever agents are asked for, and `agents`, which lists and explains them.

use robosieve::agent::{Purpose, crawlers, preset, presets};

use super::*;

fn listed(ran: &Ran) -> Vec<String> {
    ran.text().lines().skip(1).map(|line| line.split_whitespace().next().unwrap().to_owned()).collect()
}

/// The agents of a check of one URL, in order.
fn asked(place: &Place, agents: &str) -> Vec<String> {
    run(&mut place.command(&format!("check --format json --robots robots.txt {agents} http://h/")), b"").values("agent")
}

#[test]
fn all_crawlers_are_listed() {
    let place = Place::empty();
    let ran = place.run("agents").is(0);
    assert_eq!(listed(&ran), crawlers().iter().map(|crawler| crawler.token).collect::<Vec<_>>());
    let line = |token: &str| ran.text().lines().find(|line| line.split_whitespace().next() == Some(token)).unwrap().to_owned();
    for (token, words) in [
        ("Googlebot-Image", &["Google", "search", "yes", "falls back to Googlebot"][..]),
        ("AdsBot-Google", &["ads", "no"]),
        ("Google-Extended", &["ai-training", "never in a header"]),
        ("ChatGPT-User", &["OpenAI", "user-triggered", "a person asks"]),
        ("Sogou", &["header Sogou web spider | "]),
    ] {
        assert!(words.iter().all(|word| line(token).contains(word)), "{}", line(token));
    }
    assert!(ran.err.is_empty() && is_harmless(ran.text()) && ran.text().lines().all(|line| line.trim_end() == line));
}

#[test]
fn purposes_and_presets_filter_the_list() {
    let place = Place::empty();
    for purpose in Purpose::ALL {
        let by_purpose = place.run(&format!("agents --purpose {purpose}")).is(0);
        assert_eq!(listed(&by_purpose), preset(purpose.name()).unwrap().tokens);
        for line in [format!("agents @{purpose}"), format!("agents --preset {purpose}"), format!("agents --preset @{purpose}")] {
            assert_eq!(place.run(&line).is(0).text(), by_purpose.text(), "{line}");
        }
    }
    let ran = place.run("agents @ai --purpose ai-search").is(0);
    assert_eq!(listed(&ran), preset("ai-search").unwrap().tokens);
    assert_eq!(listed(&place.run("agents --purpose seo --purpose archive").is(0)).len(), {
        preset("seo").unwrap().tokens.len() + preset("archive").unwrap().tokens.len()
    });
    let ran = place.run("agents @apertus @apertus").is(0);
    assert!(ran.text().ends_with("and `*`, an agent that nobody names\n") && ran.text().lines().count() == 14, "{}", ran.text());
}

#[test]
fn a_token_is_explained() {
    let place = Place::empty();
    let ran = place.run("agents googlebot-image AdsBot-Google Google-Extended TelegramBot GPTBot/1.3").is(0);
    let parts: Vec<&str> = ran.text().split("\n\n").collect();
    let wanted = [
        &[
            "Googlebot-Image\n",
            "Google",
            "groups for Googlebot-Image, else Googlebot, else *",
            "Googlebot-Image/1.0",
            "@search",
            "https://",
            "operator's page",
        ][..],
        &["AdsBot-Google\n", "groups for AdsBot-Google; never those for *"],
        &["Google-Extended\n", "none carries the token", "Gemini", "@ai-training, @ai, @apertus"],
        &["TelegramBot\n", "beside it Twitterbot", "a list that others keep, under the MIT licence"],
        &["GPTBot\n", "OpenAI", "https://developers.openai.com/api/docs/bots"],
    ];
    assert_eq!(parts.len(), wanted.len());
    for (part, words) in parts.iter().zip(wanted) {
        assert!(words.iter().all(|word| part.contains(word)), "{words:?}: {part}");
    }
}

#[test]
fn what_is_no_crawler_names_those_near() {
    let place = Place::empty();
    for (given, meant) in [("GTPBot", "GPTBot"), ("Claude", "ClaudeBot"), ("googlebots", "Googlebot"), ("perplexity", "PerplexityBot")] {
        place.run(&format!("agents {given}")).fails(&[given, "did you mean", meant]);
    }
    place.run("agents GPTBot NobodyNeverHeardOfIt").fails(&["NobodyNeverHeardOfIt", "`robosieve agents`"]);
    place.run_and("agents", &["two words"]).fails(&["two words", "more than one word"]);
    place.run_and("agents", &["\u{1b}[31m"]).fails(&["no product token"]);
}

#[test]
fn what_does_not_go_together() {
    let place = Place::empty();
    place.run("agents @nothing").fails(&["@nothing", "@ai-training", "@apertus", "@all"]);
    place.run("agents --preset nothing").fails(&["nothing", "@all"]);
    place.run("agents --purpose spam").fails(&["spam", "ai-training", "archive"]);
    place.run("agents GPTBot @ai").fails(&["not both"]);
    place.run("agents GPTBot --purpose seo").fails(&["not both"]);
    place.run("agents --header x GPTBot").fails(&["--header"]);
    place.run("agents --presets --header x").fails(&["--presets"]);
}

#[test]
fn a_header_is_explained() {
    let place = Place::empty();
    let explain = |header: &str| place.run_and("agents --header", &[header]).is(0);
    for (header, words) in [
        (
            "Mozilla/5.0 (compatible; GPTBot/1.3)",
            &["read as  GPTBot\n", "right after `compatible;`", "carries  GPTBot of OpenAI, ai-training"][..],
        ),
        ("Googlebot-Image/1.0 Googlebot", &["read as  Googlebot-Image\n", "longest"]),
        ("CCBot/2.0", &["read as  CCBot\n", "only well-known crawler"]),
        ("TelegramBot (like TwitterBot)", &["read as  TelegramBot\n", "known to carry", "carries  Twitterbot of X"]),
        ("Mozilla/5.0 (compatible; ExampleBot/1)", &["read as  ExampleBot\n", "after `compatible;`, and no well-known"]),
        ("ExampleBot/1", &["read as  ExampleBot\n", "starts with it"]),
        ("Mozilla/5.0 (X11)", &["read as  *\n", "no token"]),
        ("Mozilla/5.0 (compatible; Google-Extended/1.0)", &["read as  Google-Extended\n", "imitation"]),
        ("Googlebot (compatible; GPTBot/1.3)", &["read as  GPTBot\n", "warning  the header is ambiguous", "Googlebot (Google)"]),
    ] {
        let ran = explain(header);
        assert!(words.iter().all(|word| ran.text().contains(word)), "{header}: {}", ran.text());
        assert_eq!(ran.text().contains("warning"), words.iter().any(|word| word.contains("warning")), "{}", ran.text());
    }
    let ran = explain("GPTBot\u{1b}[31m\u{202e}\n");
    assert!(is_harmless(ran.text()) && ran.text().contains("%1B"), "{}", ran.text());
    let both = place.run_and("agents --format json --header GPTBot --header", &["Googlebot bingbot"]).is(0);
    assert_eq!(both.values("outcome"), ["crawler", "ambiguous"]);
    assert_eq!(both.values("agent"), ["GPTBot", "Googlebot"]);
    assert_eq!(both.objects()[1]["mentions"][1]["token"], "Bingbot");
    assert_eq!((both.objects()[1]["mentions"][1]["start"].as_u64(), both.values("warning")[0].as_str()), (Some(10), "null"));
}

#[test]
fn presets_are_listed() {
    let place = Place::empty();
    let ran = place.run("agents --presets").is(0);
    for preset in presets() {
        let head = format!("@{}: {} ({})\n  {}\n", preset.name, preset.about, preset.tokens.len(), preset.tokens.join(", "));
        assert!(ran.text().contains(&head), "{head}");
    }
    assert!(ran.text().contains("published at https://"), "{}", ran.text());
    let objects = place.run("agents --presets --format json").is(0).objects();
    assert_eq!(
        objects.iter().map(|object| object["name"].as_str().unwrap()).collect::<Vec<_>>(),
        presets().iter().map(|p| p.name).collect::<Vec<_>>()
    );
    let apertus = objects.iter().find(|object| object["name"] == "apertus").unwrap();
    assert_eq!((apertus["agents"][0].as_str(), apertus["agents"][12].as_str()), (Some("AI2Bot"), Some("*")));
}

#[test]
fn json_has_everything() {
    let place = Place::empty();
    let ran = place.run("agents --format json").is(0);
    assert_eq!(ran.values("token"), crawlers().iter().map(|crawler| crawler.token).collect::<Vec<_>>());
    for object in ran.objects() {
        let keys = ["operator", "purpose", "source"];
        assert!(keys.iter().all(|key| object[key].as_str().is_some_and(|text| !text.is_empty())), "{object}");
        assert!(object["presets"].as_array().unwrap().iter().any(|name| name == "all"), "{object}");
    }
    let object = &place.run("agents Googlebot-News --format json").is(0).objects()[0];
    assert_eq!((&object["never_in_header"], &object["fallback"][0], &object["star"]), (&true.into(), &"Googlebot".into(), &true.into()));
}

#[test]
fn presets_mix_with_tokens_and_count_once() {
    let place = Place::new();
    let apertus = preset("apertus").unwrap().tokens;
    assert_eq!(asked(&place, "--agent @apertus"), apertus);
    let mixed = asked(&place, "--agent gptbot --agent Other --agent @apertus --agent @ai-training --agent Last --agent CCBot");
    assert_eq!(mixed[..3], ["gptbot", "Other", "AI2Bot"]);
    let rest: Vec<_> = preset("ai-training").unwrap().tokens.iter().filter(|token| !apertus.contains(token)).collect();
    assert_eq!(mixed.len(), 2 + (apertus.len() - 1) + rest.len() + 1);
    assert_eq!(mixed.last().unwrap(), "Last");
    assert_eq!(asked(&place, "--agent @all").len(), crawlers().len());
}

#[test]
fn the_same_agent_in_other_letters_counts_once_and_is_noted() {
    let place = Place::new();
    let ran = place.run("check --format json --robots robots.txt --agent GPTBot --agent gptbot http://h/").is(1);
    assert_eq!(ran.values("agent"), ["GPTBot"]);
    assert!(ran.err.contains("gptbot is the same agent as GPTBot"), "{}", ran.err);
    let ran = place.run("check --format json --robots robots.txt --agent GPTBot --agent @ai-training --agent GPTBot http://h/").is(1);
    assert_eq!((ran.values("agent").len(), &ran.err[..]), (preset("ai-training").unwrap().tokens.len(), ""));
}

#[test]
fn a_file_of_agents_may_hold_presets() {
    let place = Place::new();
    place.write("agents.txt", "MyBot\n@archive # those who keep\n\nLast\n");
    let names = asked(&place, "--agent-file agents.txt");
    assert_eq!(names.len(), 2 + preset("archive").unwrap().tokens.len());
    assert_eq!((&names[0][..], &names[1][..], &names[names.len() - 1][..]), ("MyBot", "archive.org_bot", "Last"));
    place.write("agents.txt", "MyBot\n\n@archives\n");
    place.run("check --robots robots.txt --agent-file agents.txt http://h/").fails(&["agents.txt, line 3", "@archives", "@archive,"]);
    place.run("check --robots robots.txt --agent @ http://h/").fails(&["\"@\"", "@ai-training"]);
}

#[test]
fn an_ambiguous_header_is_answered_with_a_warning() {
    let place = Place::new();
    let header = "Googlebot/2.1 (compatible; GPTBot/1.3)";
    let ran = place.run_and("check --format json --robots robots.txt http://h/ --user-agent", &[header]).is(1);
    assert_eq!(ran.values("agent"), ["GPTBot"]);
    assert!(ran.err.contains("warning") && ran.err.contains("ambiguous") && ran.err.contains("Googlebot (Google)"), "{}", ran.err);
    let ran = place.run("check --robots robots.txt --user-agent GPTBot/1.3 http://h/").is(1);
    assert!(!ran.err.contains("warning"), "{}", ran.err);
}

#[test]
fn columns_and_summary_name_the_agents_of_a_preset() {
    let place = Place::with_store();
    let tokens = preset("apertus").unwrap().tokens;
    place.run("eval store.rsieve urls.txt --agent @apertus -o out.arrow --summary-json summary.json").is(0);
    let columns = Columns::read(place.read("out.arrow"));
    let wanted: Vec<String> = tokens.iter().map(|token| format!("allow_{}", if *token == "*" { "any" } else { token })).collect();
    let found: Vec<_> = columns.names().into_iter().filter(|name| name.starts_with("allow_")).collect();
    assert_eq!(found, wanted);
    let expanded: Vec<&str> = columns.1.metadata()["robosieve.agents"].lines().collect();
    assert_eq!(expanded.len(), tokens.len());
    assert!(expanded.iter().zip(tokens).all(|(line, token)| line.contains(token)), "{expanded:?}");
    let summary = place.json("summary.json");
    let names: Vec<_> = summary["agents"].as_array().unwrap().iter().map(|agent| agent["agent"].as_str().unwrap()).collect();
    assert_eq!(names, tokens);
}

/// A page is out if any agent of the list may not crawl it, as the list's authors have it.
#[test]
fn a_preset_filters_for_all_its_agents() {
    let place = Place::empty();
    place.write("robots/a.example", "User-agent: PanguBot\nDisallow: /\n");
    place.write("robots/b.example", "User-agent: *\nDisallow: /\nUser-agent: Googlebot\nDisallow:\n");
    place.write("robots/c.example", "User-agent: Googlebot\nDisallow: /\n");
    place.write("urls.txt", "https://a.example/x\nhttps://b.example/x\nhttps://c.example/x\n");
    assert_eq!(place.run("filter robots urls.txt --agent @apertus").is(0).text(), "https://c.example/x\n");
}
